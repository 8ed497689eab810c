import { expect, test } from 'vitest';
import { cut, definitions, fenced } from './blocks';

const LONG = 2000;
const ITEMS = Array.from({ length: 300 }, (_, item) => `- item ${item}\n  and more of it\n`).join('');
const ROWS = Array.from({ length: 300 }, (_, row) => `| ${row} | a value |\n`).join('');
const TABLE = `| n | what |\n| --- | --- |\n${ROWS}`;

const TEXTS = [
  `${ITEMS}\nafter a long list`,
  `${TABLE}\nafter a long table`,
  'A sentence in a paragraph that has no end. '.repeat(200),
  'no end '.repeat(1000),
  '句子没有空格。'.repeat(800),
  'One.\n\nTwo.\n\n# Three\n\nfour',
  '- a\n\n- b\n\n  more of b\n\nafter the list, a paragraph',
  '1. a\n\n2. b\n\nnew paragraph here',
  '```js\na\n\nb\n```\n\nafter the code it goes on',
  '~~~~\n```\n\n~~~\n~~~~\n\nafter the other code',
  '\n\n\nblank lines first\n\n\n\nand between them',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\nafter the table\r\n\r\nwindows line ends here',
  'a line above:\n```js\ncode\n\nmore\n```\nand a line below\n~~~\nagain\n~~~\n\nend',
  '- a list\n```\ncode\n```\n  indented\n\n- b\n  ```\n  in the list\n  ```\n  more',
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

test('code at the margin is a block of its own, whatever is around it', () => {
  const texts = (text: string) => cut(text).blocks.map((block) => block.text);
  expect(texts('above:\n```js\na\n```\nbelow')).toEqual(['above:\n', '```js\na\n```\n', 'below']);
  expect(texts('```\na\n```\n\nend')).toEqual(['```\na\n```\n\n', 'end']);
  expect(texts('- a\n  ```\n  b\n  ```\n  c')).toHaveLength(1);
});

test('only the open block of a long answer is scanned again', () => {
  const text = 'A paragraph of some words.\n\n'.repeat(2000);
  const before = cut(text);
  const after = cut(`${text}More`, before);
  expect(after.blocks.slice(0, -1).every((block, index) => block === before.blocks[index])).toBe(true);
});

test('a fence is code, open or closed; with more behind it, it is Markdown', () => {
  expect(fenced('```ts\nconst a')).toEqual({ language: 'ts', code: 'const a' });
  expect(fenced('```ts\nconst a\n```\n\n')).toEqual({ language: 'ts', code: 'const a' });
  expect(fenced('```ts\nconst a\n```\nand more')).toBeNull();
  expect(fenced('text')).toBeNull();
});

test.each([
  ['a list, between items', ITEMS, /^- item/],
  ['a table, between rows', TABLE, /^\| \d+ \|/],
  ['a paragraph, between sentences', 'A sentence in a paragraph that has no end. '.repeat(200), /^A sentence/],
  ['a sentence, between words', 'no end '.repeat(1000), /^no end|^end no/],
])('what is long is cut: %s', (_, text, begins) => {
  const [, ...rest] = cut(text).blocks;
  expect(rest.length).toBeGreaterThan(1);
  for (const block of rest) {
    expect(block.text).toMatch(begins);
    expect(block.text.length).toBeLessThan(2 * LONG);
  }
});

test('every piece of a table has its head', () => {
  const [first, ...rest] = cut(`${TABLE}\nafter the table is over`).blocks;
  expect(first!.head).toBeUndefined();
  expect(rest.at(-1)).toEqual({ start: TABLE.length + 1, text: 'after the table is over' });
  for (const block of rest.slice(0, -1)) expect(block.head).toBe('| n | what |\n| --- | --- |\n');
});

test('what cannot be cut well is left whole', () => {
  expect(cut(`> ${'quoted '.repeat(500)}`).blocks).toHaveLength(1);
  expect(cut(`    ${'indented '.repeat(500)}`).blocks).toHaveLength(1);
});

test('definitions of links are found', () => {
  expect(definitions('[a][1]\n\n[1]: https://example.com "t"\nx')).toBe('[1]: https://example.com "t"');
});
