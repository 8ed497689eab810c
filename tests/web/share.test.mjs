// A run as one file, opened from a disk with the network off: the same panels, and not one request.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ask, checkAccess, close, launch, open, openPanel } from './browser.mjs';

let browser;
let folder;
before(async () => {
  browser = await launch();
  folder = await mkdtemp(path.join(tmpdir(), 'prism-share-'));
});
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

/** Ask an app, and save the answer's run with the button of the page; return where the file is. */
async function shareOf(text, app) {
  const page = await open(browser, '', { acceptDownloads: true });
  await ask(page, text, { app });
  await page.getByRole('button', { name: 'Share' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Share as one HTML file' }).click()]);
  const file = path.join(folder, `${app}.html`);
  await download.saveAs(file);
  await close(page);
  return pathToFileURL(file).href;
}

/** Open a file with no network; whatever it asks for is trouble. */
async function openFile(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', offline: true, ...options });
  const page = await context.newPage();
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && page.troubles.push(message.text()));
  page.on('request', (request) => request.url().split('#')[0] !== address && !request.url().startsWith('data:') && page.troubles.push(request.url()));
  await page.goto(address);
  await page.getByRole('slider', { name: 'Playhead' }).waitFor();
  return page;
}

test('a shared run shows the same panels, from a disk, with the network off', async () => {
  const page = await openFile(await shareOf('Cedar Creek recovery briefing', 'recovery'));
  await page.getByRole('log').getByText('Screening aid').first().waitFor();
  await page.getByRole('region', { name: 'Proof', exact: true }).waitFor(); // By itself: it is a briefing.
  await openPanel(page, 'Graph');
  await page.locator('.vertex', { hasText: 'burn_analyst' }).waitFor();
  for (const [name, shows] of [['State', /key/], ['Proof', /rests on/], ['Grounding', /has no research plan/], ['Event', /RunOver|not available/]]) {
    await (await openPanel(page, name)).getByText(shows).first().waitFor();
  }
  await checkAccess(page);
  const playhead = page.getByRole('slider', { name: 'Playhead' });
  await playhead.fill('20');
  await page.getByText(/^Step \d+ of \d+ · /).waitFor();
  await page.getByRole('region', { name: 'Event', exact: true }).getByText('what it means').waitFor();
  await openPanel(page, 'State');
  assert.ok(await page.getByRole('button', { name: 'Fork from here' }).isDisabled());
  await close(page);
});

test('what an agent said stays text', async () => {
  const attack = '</script><script>window.ran = 1</script><img src=x onerror="window.ran = 1"> <!-- \u2028';
  const page = await openFile(await shareOf(attack, 'tour'));
  await page.getByRole('log').getByText('window.ran').first().waitFor();
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await close(page);
});

test('an image is in the file, and is shown', async () => {
  const page = await openFile(await shareOf('image', 'tour'));
  const image = page.getByRole('log').locator('img');
  await image.waitFor();
  assert.ok(await image.evaluate((shown) => shown.complete && shown.naturalWidth > 0));
  await close(page);
});

test('a file of a newer version says so', async () => {
  const address = await shareOf('text', 'tour');
  const text = await (await import('node:fs/promises')).readFile(new URL(address), 'utf-8');
  const newer = path.join(folder, 'newer.html');
  await writeFile(newer, text.replace('"film":{"version":1', '"film":{"version":999'));
  const page = await (await browser.newContext({ offline: true })).newPage();
  await page.goto(pathToFileURL(newer).href);
  await page.getByText('written by a newer adk-prism').first().waitFor();
  await page.context().close();
});
