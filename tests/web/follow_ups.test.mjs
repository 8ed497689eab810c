// What a person may say next: below the last answer, until somebody speaks; and the title that came with it.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, chat, checkAccess, close, launch, open, say, settled } from './browser.mjs';

let browser;
let page;
before(async () => {
  browser = await launch();
  page = await open(browser);
  await ask(page, 'Show me suggestions');
});
afterEach((t) => afterTest(t, page));
after(async () => {
  await close(page);
  await browser.close();
});

const chips = () => page.getByRole('list', { name: 'Suggestions' });
const titles = () => page.locator('.rail-list');

test('an answer has suggestions, and the conversation its title, without a reload', async () => {
  await chips().waitFor();
  assert.deepEqual(await chips().getByRole('button').allInnerTexts(), ['tool', 'approval', 'What can you show me? help']);
  await titles().getByText('A tour', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'A tour' }).waitFor();
  await checkAccess(page);
  if (process.env.PRISM_PICTURES) await page.screenshot({ path: path.join(process.env.PRISM_PICTURES, 'follow_ups.png') });
});

test('they are there after a reload, and not in the past', async () => {
  await page.reload();
  await chips().waitFor();
  const address = page.url().split('?')[0];
  await page.goto(`${address}?at=5`);
  await page.getByRole('button', { name: /^Back to now/ }).waitFor();
  assert.equal(await chips().count(), 0);
  await page.getByRole('button', { name: /^Back to now/ }).click();
  await chips().waitFor();
});

test('a key sends one, and all of them go', async () => {
  await chips().getByRole('button', { name: 'tool', exact: true }).focus();
  await page.keyboard.press('Enter');
  await chips().waitFor({ state: 'detached' });
  await settled(page);
  assert.equal(await chat(page).getByText('tool', { exact: true }).count() > 0, true);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'composer');
  assert.equal(await chips().count(), 0); // The tour suggests nothing after this one.
});

test('they move nobody who reads further up', async () => {
  await page.setViewportSize({ width: 1440, height: 500 });
  await ask(page, 'long 400');
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route('**/suggestions*', async (route) => {
    await released;
    await route.continue();
  });
  await say(page, 'suggestions');
  await chat(page).getByText('Mine are scripted').waitFor();
  await settled(page);
  await chat(page).hover();
  await page.mouse.wheel(0, -300);
  await page.getByRole('button', { name: /Jump to latest|new$/ }).waitFor();
  const top = () => chat(page).evaluate((log) => log.scrollTop);
  const before = await top();
  release();
  await chips().waitFor({ state: 'attached' });
  assert.equal(await top(), before);
});
