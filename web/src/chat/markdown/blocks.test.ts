import { expect, test } from 'vitest';
import { cut, definitions, openCode } from './blocks';

const TEXTS = [
  'One.\n\nTwo.\n\n# Three\n\nfour',
  '- a\n\n- b\n\n  more of b\n\nafter the list, a paragraph',
  '1. a\n\n2. b\n\nnew paragraph here',
  '```js\na\n\nb\n```\n\nafter the code it goes on',
  '~~~~\n```\n\n~~~\n~~~~\n\nafter the other code',
  '\n\n\nblank lines first\n\n\n\nand between them',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\nafter the table\r\n\r\nwindows line ends here',
  '',
];

test.each(TEXTS)('blocks of %j join to the text', (text) => {
  const { blocks } = cut(text);
  expect(blocks.map((block) => block.text).join('')).toBe(text);
  for (const block of blocks) expect(text.startsWith(block.text, block.start)).toBe(true);
});

test.each(TEXTS)('%j cut letter by letter is cut as a whole', (text) => {
  let grown = cut('');
  for (let length = 1; length <= text.length; length++) grown = cut(text.slice(0, length), grown);
  expect(grown.blocks).toEqual(cut(text).blocks);
});

test('lists and fences stay whole', () => {
  expect(cut('- a\n\n- b\n\n  more of b\n\nafter the list').blocks).toHaveLength(2);
  expect(cut('```\na\n\n\nb\n```\n\nafter the code').blocks).toHaveLength(2);
});

test('only the open block of a long answer is scanned again', () => {
  const text = 'A paragraph of some words.\n\n'.repeat(2000);
  const before = cut(text);
  const after = cut(`${text}More`, before);
  expect(after.blocks.slice(0, -1).every((block, index) => block === before.blocks[index])).toBe(true);
});

test('an open fence is code; a closed one is Markdown', () => {
  expect(openCode('```ts\nconst a')).toEqual({ language: 'ts', code: 'const a' });
  expect(openCode('```ts\nconst a\n```\n')).toBeNull();
  expect(openCode('text')).toBeNull();
});

test('definitions of links are found', () => {
  expect(definitions('[a][1]\n\n[1]: https://example.com "t"\nx')).toBe('[1]: https://example.com "t"');
});
