/** What becomes of an answer's Markdown when it is complete. */
import { prerender } from 'react-dom/static';
import { expect, test, vi } from 'vitest';
import { footnotes } from './blocks';
import { highlight } from './highlight';
import { Prose } from './Prose';
import { draw } from './texToMathml';

// Before Temml asks: the document of these tests does not say that it follows the standard.
vi.hoisted(() => Object.defineProperty(document, 'compatMode', { value: 'CSS1Compat', configurable: true }));

async function markupOf(text: string, live = false): Promise<string> {
  const { prelude } = await prerender(<Prose text={text} live={live} />);
  return (await new Response(prelude).text()).replace(/<!--.*?-->/g, '');
}

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

test.each([
  ['HTML is text', 'a <b onclick="x()">bold</b> word', 'a &lt;b onclick=&quot;x()&quot;&gt;bold&lt;/b&gt; word'],
  [
    'a block of HTML is text, line by line',
    '<div>\n<script>x()</script>\n</div>',
    '<p class="plain">&lt;div&gt;\n&lt;script&gt;x()&lt;/script&gt;\n&lt;/div&gt;</p>',
  ],
  ['a comment is text', 'a <!-- hidden --> b', 'a &lt;!-- hidden --&gt; b'],
  ['a break in a table is one', '| a |\n| --- |\n| x<br>y |', 'x<br/>\ny'],
  ['a picture in the text is shown', `![dot](${PIXEL})`, `<img src="${PIXEL}" alt="dot"/>`],
  ['a long one, too', `![dot](${PIXEL.replace('=', 'A'.repeat(300_000))})`, '<img src="data:image/png;base64,'],
  ['a picture that could be run is none', '![x](data:image/svg+xml;base64,PHN2Zy8+)', 'image: x'],
  ['a picture from elsewhere is a link', '![x](https://example.com/a.png)', 'href="https://example.com/a.png"'],
  ['formulas keep their letters', 'so $a_b*c*_d$ and *x*', '<code>$a_b*c*_d$</code>'],
  ['a formula in code is code', '~~~\n$x$\n~~~\n\nand `$y$`', '<code>$y$</code>'],
  ['a dollar in an address stays', '[a](https://example.com/$x$)', 'href="https://example.com/$x$"'],
  ['money is text', 'It is $5 and $10.', '<p>It is $5 and $10.</p>'],
])('%s', async (_, text, expected) => {
  expect(await markupOf(text)).toContain(expected);
});

test('footnotes stand at the end, in the order in which they are named', async () => {
  const markup = await markupOf(
    'First[^b], then[^A], again[^b].\n\n[^a]: of *a*\n    goes on\n\n[^b]: of b\n\nThe last paragraph.\n\n[^c]: of nobody',
  );
  expect(markup).toMatch(/First<sup><button[^>]*aria-label="Footnote 1"/);
  expect(markup).toMatch(/then<sup><button[^>]*aria-label="Footnote 2"/);
  const [body, end] = markup.split('<section class="footnotes"');
  expect(body).toContain('The last paragraph.');
  expect(body).not.toContain('of b');
  expect(end).toMatch(
    /data-footnote="1".*of b.*data-footnote="2".*of <em>a<\/em>\ngoes on.*data-footnote="3".*of nobody/s,
  );
});

test('footnotes of a text that is being written stand where they are', async () => {
  const markup = await markupOf('First[^b].\n\n[^b]: of b', true);
  expect(markup).toContain('First[^b].');
  expect(markup).toContain('of b');
  expect(footnotes('```\n[^a]: code\n```\n')).toEqual([]);
});

test('tokens join to their code; what is not known is left alone', () => {
  const code = 'def f(x):\n    """doc"""\n    return f"{x} €" # <b>';
  const tokens = highlight(code, 'Python')!;
  expect(tokens.map(({ text }) => text).join('')).toBe(code);
  expect(tokens.find(({ text }) => text === 'def')?.kind).toBe('hljs-keyword');
  expect(highlight(code, 'no-such-language')).toBeNull();
  expect(highlight(code, '__proto__')).toBeNull();
});

test.each([
  ['x^2 + \\frac{a}{b}', true],
  ['\\href{javascript:alert(1)}{x}', false],
  ['\\includegraphics{https://example.com/a.png}', false],
  ['\\class{a}{x}', false],
  ['\\def\\a{\\a\\a}\\a', false],
  ['\\frac{a', false],
  ['\\nosuchcommand', false],
  ['{'.repeat(1900) + '}'.repeat(1900), false],
  ['\\sqrt{'.repeat(500) + 'x' + '}'.repeat(500), false],
])('formula %j is drawn: %s', (tex, isDrawn) => {
  const into = document.createElement('span');
  expect(draw(tex, false, into)).toBe(isDrawn);
  expect(into.querySelector('math') !== null).toBe(isDrawn);
  expect(into.querySelector('[href], [src], script')).toBeNull();
});

test('what one formula defines is not known to the next', () => {
  const into = document.createElement('span');
  expect(draw('\\gdef\\mine{x}\\mine', false, into)).toBe(true);
  expect(draw('\\mine', false, into)).toBe(false);
});
