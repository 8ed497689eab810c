// One browser and one colour scheme of `make test-matrix`: opens every view at every width, checks it, takes its picture.
// Puppeteer drives both browsers; Playwright would need a Firefox of its own.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const require = createRequire(path.join(import.meta.dirname, '..', 'node', 'package.json'));
const { default: puppeteer } = await import(require.resolve('puppeteer-core'));
const AXE = await readFile(require.resolve('axe-core/axe.min.js'), 'utf-8');
const UNPACKED = path.join(import.meta.dirname, '..', 'node', 'node_modules', '.browser');

const { PRISM_URL, PRISM_BROWSER, PRISM_SCHEME, PRISM_VIEWS, PRISM_FIREFOX, PRISM_PICTURES } = process.env;
const SIZES = [
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1440 },
];
const PATIENCE = 180_000;
/** The file of "file reference" is in a store that the server was not told to trust. */
const EXPECTED = /status of 403/;

const START = {
  chromium: async () => ({
    browser: 'chrome',
    executablePath: path.join(UNPACKED, 'chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
    env: { ...process.env, LD_LIBRARY_PATH: path.join(UNPACKED, 'al2023', 'lib'), FONTCONFIG_PATH: path.join(UNPACKED, 'fonts') },
  }),
  firefox: async () => {
    const { executable, libraries } = JSON.parse(await readFile(PRISM_FIREFOX, 'utf-8'));
    return {
      browser: 'firefox',
      executablePath: executable,
      // 0 is dark and 1 is light; this Firefox cannot be told so by a page's driver.
      extraPrefsFirefox: { 'layout.css.prefers-color-scheme.content-override': PRISM_SCHEME === 'dark' ? 0 : 1, 'ui.prefersReducedMotion': 1 },
      env: { ...process.env, ...(libraries && { LD_LIBRARY_PATH: libraries }) },
    };
  },
};

const picture = (name, { width }) => `${name.replaceAll(' ', '-')}-${width}.png`;

/** Open a view; return what is wrong with it. */
async function look(browser, { name, address, ready }, size) {
  const page = await browser.newPage();
  const troubles = [];
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.stack ?? error}`));
  page.on('console', (message) => message.type() === 'error' && !EXPECTED.test(message.text()) && troubles.push(`console: ${message.text()}`));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== new URL(PRISM_URL).origin) troubles.push(`request to ${request.url()}`);
  });
  await page.setViewport(size);
  if (PRISM_BROWSER === 'chromium') {
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: PRISM_SCHEME },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]);
  }
  await page.goto(`${PRISM_URL}/${address}`);
  await atRest(page, ready);
  await page.screenshot({ path: path.join(PRISM_PICTURES, picture(name, size)) });
  const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (tooWide > 0) troubles.push(`${tooWide} px wider than the window`);
  troubles.push(...(await violations(page)));
  await page.close();
  return troubles.map((trouble) => `${name} at ${size.width}: ${trouble}`);
}

/** Wait until the page has what it shows, and changes no more. */
async function atRest(page, ready) {
  await page.waitForSelector(ready, { timeout: PATIENCE });
  let seen = [];
  for (const end = Date.now() + PATIENCE; Date.now() < end; await delay(200)) {
    seen = [...seen.slice(-2), await page.evaluate(() => (document.querySelector('[aria-busy="true"]') ? '' : document.body.innerText))];
    if (seen.length === 3 && seen[0] && seen.every((text) => text === seen[0])) return;
  }
  assert.fail('the page never comes to rest');
}

async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const found = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(({ id, help, nodes }) => `axe ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`);
  });
}

/** Put small copies of all pictures of a width on one. */
async function contactSheet(browser, width, names) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1800, height: 1200 });
  const figures = names.map((name) => `<figure><img src="${name}"><figcaption>${name}</figcaption></figure>`).join('');
  const style = `body{display:flex;flex-wrap:wrap;gap:6px;margin:6px;font:11px sans-serif}figure{margin:0}img{width:${width === 390 ? 214 : 440}px;display:block}`;
  const file = path.join(PRISM_PICTURES, `sheet-${width}.html`);
  await writeFile(file, `<!doctype html><meta charset=utf-8><style>${style}</style>${figures}`);
  await page.goto(`file://${file}`);
  await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode())));
  await page.screenshot({ path: path.join(PRISM_PICTURES, '..', `sheet-${path.basename(PRISM_PICTURES)}-${width}.png`), fullPage: true });
  await page.close();
}

const browser = await puppeteer.launch({ headless: true, protocolTimeout: PATIENCE, ...(await START[PRISM_BROWSER]()) });
try {
  const views = JSON.parse(await readFile(PRISM_VIEWS, 'utf-8'));
  const troubles = [];
  for (const size of SIZES) {
    for (const view of views) troubles.push(...(await look(browser, view, size)));
    await contactSheet(browser, size.width, views.map(({ name }) => picture(name, size)));
  }
  assert.deepEqual(troubles, []);
} finally {
  await browser.close();
}
