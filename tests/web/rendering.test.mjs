// What an answer's Markdown becomes in a real browser, under the page's policy: colours, formulas, footnotes, pictures,
// diagrams; in a shared file as well.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkAccess, close, launch, open, SERVER, until } from './browser.mjs';
import { BROKEN, DIAGRAMS, HOSTILE } from './diagrams.mjs';

const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const ANSWER = `# A proof

It costs $5 and $10, but $e^{i\\pi} + 1 = 0$, and \\(\\sqrt{x_1}\\)[^one].

$$
\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} = \\boxed{\\color{red}\\int_0^1 x\\,dx}
$$

\`\`\`python
def area(r: float) -> str:
    """Of a circle."""  # <b>
    return f"{3.14 * r ** 2}"
\`\`\`

| a | ${'wide | '.repeat(30)}
| --- | ${'--- | '.repeat(30)}
| $|x|$ | ${'cell | '.repeat(30)}

Raw <b>HTML</b>, \\[not math\\], $\\href{javascript:alert(1)}{x}$ and $\\frac{a$.

![dot](${PIXEL})

[^one]: The first footnote.

The last paragraph.
`;

const fenced = (source) => `\`\`\`mermaid\n${source}\n\`\`\`\n`;
const NOT_DRAWN = 'This diagram could not be drawn.';

let browser;
let run;
let folder;
before(async () => {
  browser = await launch();
  folder = await mkdtemp(path.join(tmpdir(), 'prism-rendering-'));
  run = await upload(ANSWER);
});
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

/** Upload a run in which an agent says something. */
async function upload(text) {
  const said = (author, words) => JSON.stringify({ id: author, invocationId: `i-${words.length}`, author, timestamp: 1_750_000_000, content: { role: author, parts: [{ text: words }] } });
  const answer = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body: [said('user', 'Show it.'), said('model', text)].join('\n'), headers: { 'content-type': 'application/jsonl' } });
  return (await answer.json()).run;
}

for (const dark of [false, true]) {
  test(`an answer with everything, ${dark ? 'dark' : 'light'}`, async () => {
    const page = await open(browser, `#/run/${run}`, { dark });
    const log = page.getByRole('log');
    await log.locator('.code .hljs-keyword', { hasText: 'def' }).waitFor();
    assert.match(await log.locator('.code').first().innerText(), /return f"\{3\.14 \* r \*\* 2\}"/);
    await log.locator('math[display="block"] mtable').waitFor();
    assert.equal(await log.locator('math').count(), 4);
    assert.ok((await log.locator('math mtable').boundingBox()).height > 30, 'the matrix has two rows');
    await log.getByText('It costs $5 and $10').waitFor();
    await log.getByText('Raw <b>HTML</b>, [not math]').waitFor();
    for (const source of ['$\\href{javascript:alert(1)}{x}$', '$\\frac{a$']) await log.locator('.formula code', { hasText: source }).waitFor();
    assert.ok(await log.locator('.block img').evaluate((image) => image.complete && image.naturalWidth === 1));
    await log.getByRole('button', { name: 'Footnote 1', exact: true }).press('Enter');
    const note = log.locator('[data-footnote="1"]');
    await until(() => note.evaluate((element) => element === document.activeElement), 'the footnote has not the focus');
    await note.getByRole('button', { name: 'Back to footnote 1' }).press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Footnote 1');
    await checkAccess(page);
    if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/rendering-${dark ? 'dark' : 'light'}.png` });
    await close(page);
  });
}

/** Wait until so many diagrams are pictures, and so many are not; return the pictures. */
async function settledDiagrams(page, drawn, broken) {
  const log = page.getByRole('log');
  await until(async () => (await log.locator('.diagram img').count()) === drawn && (await log.getByText(NOT_DRAWN).count()) === broken, `${drawn} pictures and ${broken} sources`);
  return log.locator('.diagram img');
}

test('diagrams are pictures, with their source below, and go with a shared file', async () => {
  const all = Object.values(DIAGRAMS);
  const nested = '- in a list\n\n  ```mermaid\n  flowchart LR\n    X --> Y\n  ```\n';
  const diagrams = await upload(`${all.map(fenced).join('\n')}\n${nested}\n\`\`\`html\n<!-- a comment --><p>x</p>\n\`\`\`\n`);
  const page = await open(browser, `#/run/${diagrams}`, { dark: true, acceptDownloads: true });
  const images = await settledDiagrams(page, all.length + 1, 0);
  for (const image of await images.all()) assert.ok(await image.evaluate((shown) => shown.complete && shown.naturalWidth > 50 && shown.naturalHeight > 50));
  await checkAccess(page);
  const first = page.locator('.diagram').first();
  await first.getByRole('button', { name: 'Copy the source' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), all[0]);
  await first.getByRole('button', { name: 'Source', exact: true }).press('Enter');
  await first.getByText('A[Start] -->|a label|').waitFor();
  await page.getByRole('button', { name: 'Share' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Share as one HTML file' }).click()]);
  const file = path.join(folder, 'diagrams.html');
  await download.saveAs(file);
  await close(page);

  const alone = await (await browser.newContext({ offline: true })).newPage();
  const troubles = [];
  alone.on('console', (message) => message.type() === 'error' && troubles.push(message.text()));
  await alone.goto(pathToFileURL(file).href);
  const shown = await settledDiagrams(alone, all.length + 1, 0);
  assert.ok(await shown.last().evaluate((image) => image.complete && image.naturalWidth > 50));
  await alone.locator('.code .hljs-comment', { hasText: '<!-- a comment -->' }).waitFor();
  await alone.context().close();
  assert.deepEqual(troubles, []);
});

test('what is broken, hostile or endless is shown as it was written, and does nothing', async () => {
  const long = `\`\`\`js\n${'const a = 1;\n'.repeat(80_000)}\`\`\``;
  const run = await upload([...BROKEN, ...HOSTILE].map(fenced).concat(long, '```python\ndef no_end():').join('\n\n'));
  const page = await open(browser, `#/run/${run}`);
  const log = page.getByRole('log');
  await log.getByText('no_end').waitFor();
  await until(async () => (await log.locator('.diagram img').count()) + (await log.getByText(NOT_DRAWN).count()) === BROKEN.length + HOSTILE.length, 'each is drawn or not');
  assert.ok((await log.getByText(NOT_DRAWN).count()) >= BROKEN.length);
  for (const picture of await log.locator('.diagram img').evaluateAll((all) => all.map(({ src }) => decodeURIComponent(src)))) {
    assert.doesNotMatch(picture, /<script|<image|<foreignObject|<a |href="[^#]|url\((?!["']?#)|\son\w+="/i);
  }
  assert.deepEqual(await page.evaluate(() => [globalThis.ran, getComputedStyle(document.body).display, document.adoptedStyleSheets.length]), [undefined, 'block', 0]);
  await log.getByRole('button', { name: /Show all 8/ }).waitFor();
  await close(page);
});
