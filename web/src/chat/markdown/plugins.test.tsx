/** Whatever an agent writes is drawn: parsed where that is cheap, as it was written everywhere else. */
import { prerender } from 'react-dom/static';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { cut, definitions, used } from './blocks';
import { isBounded } from './plugins';
import { Prose } from './Prose';
import Rendered from './Rendered';

/** Elements in each other that a browser lays out without noticing. */
const DEEP = 700;

/** Elements of one block: a browser makes so many in some milliseconds. */
const MANY = 12_000;

/** What Markdown is made of, each as a unit to repeat. */
const UNITS = [
  '>',
  '> ',
  '- ',
  '* ',
  '+ ',
  '1. ',
  '1) ',
  '> - ',
  '- > ',
  '1. > + ',
  '  - a\n',
  '\t- ',
  '*',
  '**',
  '_',
  '__',
  '*a',
  '*a ',
  'a* ',
  '**a ',
  '*a_',
  '*_',
  '~',
  '~~a',
  '[',
  '![',
  ']',
  '](',
  '[](',
  '[a](',
  '[a]',
  '[a][',
  '[^a]',
  '[^a]: b\n',
  '[a]: b\n',
  '*[',
  '[*',
  '`',
  '`a',
  '``',
  '<',
  '<a',
  '<!--',
  '</a>',
  '&',
  '&amp;',
  '|',
  '|a',
  '|-',
  '|a|b|\n|-|-|\n',
  '\\',
  'www.a',
  'a@b.',
  'https://a',
  '(',
  '"',
  'a',
  'a ',
  'ä',
  '😀',
  '\u0000',
  '\u2028',
  '#',
  '# a\n',
  '===\n',
  'a\n===\n',
  '---\n',
  '\n',
  'a\n',
  '-\n',
  '- a\n',
  '- a\n\n',
  '- [ ] ',
  '    a\n',
  '```\n',
  '~~~',
  '$',
  ' ',
  '\t',
];

function repeated(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
}

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');

const MONSTERS: Record<string, string> = {
  ...Object.fromEntries(
    UNITS.flatMap((unit) =>
      [2000, 11_000].map((length) => [`${JSON.stringify(unit)} × ${length}`, repeated(unit, length)]),
    ),
  ),
  'quotes that deepen': lines(2000, (at) => `${'>'.repeat(at % 400)} a`),
  'lists that deepen': lines(150, (at) => `${'  '.repeat(at)}- a`),
  'emphasis in emphasis': '*a '.repeat(2000) + 'b*'.repeat(2000),
  'strong in strong': '**a'.repeat(1500) + 'a**'.repeat(1500),
  'links in links': '['.repeat(1500) + 'a' + '](b)'.repeat(1500),
  'images in images': '!['.repeat(1500) + 'a' + '](b)'.repeat(1500),
  'a wide table': `${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${'|b'.repeat(2000)}|\n`,
  'a wide table of empty rows': `${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n${'|\n'.repeat(3000)}`,
  'a delimiter row that is none': `|a\n|${'-'.repeat(200_000)}x`,
  'many definitions, many uses': `${lines(600, (at) => `[a${at}]: b`)}\n\n${lines(600, (at) => `[a${at}]\n`)}`,
  'a line of a megabyte': 'a'.repeat(1_000_000),
};

/** Draw every block of a text as the page does; fail for one that is too deep or too much. */
function draw(text: string): void {
  const links = definitions(text);
  for (const { head = '', text: block } of cut(text).blocks) {
    const source = `${head}${block}\n\n${used(links, block)}`;
    if (source.length > 12_000) continue; // shown as it was written, as by the page
    const markup = renderToStaticMarkup(<Rendered text={source} images={[]} notes="" />);
    expect(measure(markup).depth, block.slice(0, 80)).toBeLessThan(DEEP);
    expect(measure(markup).count, block.slice(0, 80)).toBeLessThan(MANY);
  }
}

function measure(markup: string): { depth: number; count: number } {
  let depth = 0;
  let deepest = 0;
  let count = 0;
  for (const [tag] of markup.matchAll(/<\/?[a-z][^>]*?>/g)) {
    if (tag.startsWith('</')) depth -= 1;
    else if (!/^<(?:br|hr|img|input)|\/>$/.test(tag)) deepest = Math.max(deepest, (depth += 1));
    count += 1;
  }
  return { depth: deepest, count };
}

/** A generator of numbers from 0 to 1 that is the same in every run. */
function seeded(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A text of units, some of them often, in the nesting that chance gives them. */
function generated(seed: number): string {
  const random = seeded(seed);
  const among = <T,>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const few = Array.from({ length: 1 + Math.floor(random() * 6) }, () => among(UNITS));
  let text = '';
  while (text.length < 4000) {
    const unit = among(few);
    text += random() < 0.1 ? unit.repeat(1 + Math.floor(random() * 300)) : unit;
    if (random() < 0.02) text += random() < 0.5 ? '\n\n' : 'words ';
  }
  return text;
}

describe('monsters', () => {
  test.each(Object.entries(MONSTERS))('%s', (_, text) => draw(text), 120_000);
});

test('generated Markdown is drawn, whatever the seed', () => {
  for (let seed = 1; seed <= 300; seed += 1) draw(generated(seed));
}, 600_000);

test('what cannot be parsed is shown as it was written', async () => {
  for (const text of ['>'.repeat(2000), '> '.repeat(2000), '*a_'.repeat(900)]) {
    const { prelude } = await prerender(<Prose text={text} live={false} />);
    const markup = await new Response(prelude).text();
    expect(markup.replaceAll('&gt;', '>')).toContain(text.trim());
    expect(markup).toContain('class="plain"');
  }
});

test.each([
  ['four lists in each other', '- a\n  - b\n    - c\n      1. d\n'],
  ['a quote in a quote with a list', '> a\n>> b\n>> - c\n'],
  [
    'a table of ten columns and forty rows',
    `${'| head '.repeat(10)}|\n${'|---'.repeat(10)}|\n${`${'| `a_b` '.repeat(3)}${'| cell '.repeat(7)}|\n`.repeat(40)}`,
  ],
  ['fifty links', '- **[a title](https://example.com/a_b_c)**: some words about it\n'.repeat(50)],
])('ordinary Markdown is parsed: %s', (_, text) => {
  for (const { head = '', text: block } of cut(text).blocks) expect(isBounded(head + block)).toBe(true);
});

test('a block is given the definitions that it uses', () => {
  const links = '[One  Two]: http://a\n[three]: http://b';
  expect(used(links, 'see [one two] and [Four]')).toBe('[One  Two]: http://a');
  expect(used(links, 'see [THREE][]')).toBe('[three]: http://b');
});
