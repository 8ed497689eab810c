import { expect, test } from 'vitest';
import { restored, takeFormulas } from './formulas';

const found = (text: string) => takeFormulas(text).formulas.map(({ tex, isDisplay }) => (isDisplay ? `[${tex}]` : tex));

test.each([
  ['Let $x$ be, and $y_1$.', ['x', 'y_1']],
  ['$E=mc^2$', ['E=mc^2']],
  ['$2$ and $3x$ and $10^{-3}$', ['2', '3x', '10^{-3}']],
  ['($n$-th), **$a*b*c$**, "$f(x)$"', ['n', 'a*b*c', 'f(x)']],
  ['\\(a_b\\) and \\( c \\)', ['a_b', 'c']],
  ['before\n\n\\[\na = b\n\\]\n', ['[a = b]']],
  ['- \\[ x \\]\n- two', ['[x]']],
  [
    '$$\n\\begin{aligned}\na &= b \\\\\n- c\n\\end{aligned}\n$$',
    ['[\\begin{aligned}\na &= b \\\\\n- c\n\\end{aligned}]'],
  ],
  ['so $$x = 1$$ holds', ['[x = 1]']],
  ['> $$\n> x\n> $$', ['[x]']],
  ['| $|x|$ | $5 | $10 |', ['|x|']],
  ['the price $\\$5$ in TeX', ['\\$5']],
])('formulas of %j', (text, formulas) => {
  expect(found(text)).toEqual(formulas);
});

test.each([
  'It is $5 and $10.',
  '$5-$10, or $5–$10',
  'from $5 to $10, US$ 20 or A$30',
  '$5, $10 and 15$',
  '$1,000 in cash or 2,000$ later',
  '|$5|$10|',
  'a $20k budget and $30k',
  'restaurants: $$ and $$$ places',
  '$PATH and $HOME, $PATH:$HOME, ${a}:$b',
  '`$x$` and ``a ` $y$``',
  '```sh\necho $a $b$\n```',
  '\\$5 and \\$6$',
  'array\\[0\\] and \\[1\\] Smith 2020',
  '\\(\\) and \\( \\)',
  '$$\n\nno end',
  '$ x $ and $x $',
  '\\(a\n\nb\\)',
  'an open $x + y and no more',
  'an open \\(x and \\[y',
  '$'.repeat(5000),
  '\\('.repeat(3000),
  '`$'.repeat(3000),
])('no formula in %j', (text) => {
  expect(takeFormulas(text)).toEqual({ text, formulas: [] });
});

test('signs and sources join to the text', () => {
  const text = 'a $x$, \\(y\\)\n\n$$\nz\n$$\n\nand \uD83D\uDE00';
  const taken = takeFormulas(text);
  expect(taken.formulas).toHaveLength(3);
  expect(taken.text).not.toContain('$');
  expect(restored(taken.text, taken.formulas)).toBe(text);
});

test('signs that an agent writes itself are no formulas', () => {
  expect(takeFormulas('\uE0F00\uE0F1 $x$').formulas).toEqual([]);
});
