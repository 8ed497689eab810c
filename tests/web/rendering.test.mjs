// What an answer's Markdown becomes in a real browser, under the page's policy: colours, formulas, footnotes, pictures.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkAccess, close, launch, open, SERVER } from './browser.mjs';

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

let browser;
let run;
before(async () => {
  browser = await launch();
  run = await upload(ANSWER);
});
after(() => browser.close());

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
    assert.ok(await note.evaluate((element) => element === document.activeElement));
    await note.getByRole('button', { name: 'Back to footnote 1' }).press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Footnote 1');
    await checkAccess(page);
    if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/rendering-${dark ? 'dark' : 'light'}.png` });
    await close(page);
  });
}
