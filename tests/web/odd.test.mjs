// Odd apps under a path prefix: one that does not import, one that repeats attacks. Nothing of them is ever executed.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, checkAccess, close, launch, open } from './browser.mjs';
import { proxy } from './proxy.mjs';

const ODD = process.env.PRISM_ODD_URL;

let browser;
let between;
let page;
before(async () => {
  browser = await launch();
  between = await proxy(ODD, '/prism');
  page = await open(browser, '', { url: between.url, width: 1280 });
  await page.exposeFunction('alert', () => page.troubles.push('a script ran'));
});
afterEach((t) => afterTest(t, page));
after(async () => {
  await browser.close();
  between.close();
});

test('a link to an app that fails to import says so, once it was tried', async () => {
  const other = await open(browser, '#/app/broken/s-1', { url: between.url, width: 1280, allow: [/status of 404/] });
  await other.getByRole('alert').getByText('could not be loaded (RuntimeError)').waitFor();
  assert.equal(await other.getByText('for the operator alone').count(), 0);
  await checkAccess(other);
  await close(other);
});

test('an app that fails to import is listed with its error, and the others work', async () => {
  await fetch(`${ODD}/api/apps/parrot`);
  await page.reload();
  const card = page.locator('.card', { hasText: 'broken' });
  await card.getByText('could not be loaded (RuntimeError). Reference:').waitFor();
  assert.equal(await page.getByText('for the operator alone').count(), 0);
  await page.locator('.card', { hasText: 'parrot' }).getByText('<img src=x onerror=alert(1)>').waitFor();
  await checkAccess(page);
});

const ATTACKS = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script><svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>',
  '[click](javascript:alert(1)) ![x](https://evil.example/pixel.png "t") <https://ok.example>',
  '[a]: javascript:alert(1)\n\n[a] [b](data:text/html,<script>alert(1)</script>) <iframe src="https://evil.example"></iframe>',
  '<style>body{display:none}</style><base href="https://evil.example/"><meta http-equiv="refresh" content="0;url=https://evil.example">',
  '```html\n<script>alert(1)</script>\n```\n\n| <b onclick=alert(1)>a</b> | `</script>` |\n|--|--|\n| __proto__ | constructor |',
  '# ' + '['.repeat(2000) + '**'.repeat(500) + '> '.repeat(300),
];

for (const [index, attack] of ATTACKS.entries()) {
  test(`attack ${index} is only text`, async () => {
    await ask(page, attack, { app: 'parrot' });
    await page.locator('.log .tool-head').click();
    const found = await page.evaluate(() => ({
      elements: document.querySelectorAll('.log :is(script, iframe, style, base, meta, object, embed, form[action]), .log svg:not(.icon)').length,
      handlers: [...document.querySelectorAll('.log *')].filter((element) => [...element.attributes].some(({ name }) => name.startsWith('on'))).length,
      links: [...document.querySelectorAll('.log a')].map((link) => link.protocol).filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
      images: [...document.querySelectorAll('.log img')].map((image) => image.src),
    }));
    assert.deepEqual(found, { elements: 0, handlers: 0, links: [], images: [] });
  });
}

test('every request stays below the prefix', async () => {
  const paths = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname));
  assert.ok(paths.length > 5);
  assert.deepEqual(paths.filter((path) => !path.startsWith('/prism/')), []);
});
