// Opens the built example in Chromium: node vite_react.mjs PAGE. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { launch } from '../../web/browser.mjs';

const [address] = process.argv.slice(2);

const browser = await launch();
after(() => browser.close());

test('a chat with approval, a tool of the page, sources and history', async () => {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(address);
  const say = async (text) => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  await say('mixed batch');
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('send_invoice: output-available').waitFor();
  await page.getByText('get_location: output-available').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await page.getByRole('link', { name: 'mixed batch' }).first().waitFor();
  const before = await page.locator('article').allTextContents();
  await page.reload();
  await page.locator('article').nth(1).waitFor();
  assert.deepEqual(await page.locator('article').allTextContents(), before);
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.locator('article').first().waitFor({ state: 'detached' });
  await say('sources');
  await page.getByText('Source: ').first().waitFor();
  assert.deepEqual(errors, []);
});
