// Opens the built example in Chromium: node copilotkit.mjs PAGE. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, PIXEL, quiet } from './example.mjs';

const [address] = process.argv.slice(2);

/** Open the page; return once CopilotKit has asked for the thread: what is typed before, it forgets. */
async function start() {
  const page = await open('about:blank');
  await Promise.all([page.waitForResponse((response) => response.url().endsWith('/connect')), page.goto(address)]);
  await page.getByRole('textbox').first().waitFor();
  return page;
}

async function say(page, text) {
  const box = page.getByRole('textbox').first();
  await box.fill(text);
  await box.press('Enter');
}

test('a chat with approval, a tool of the page, files, sources and history', async () => {
  const page = await start();
  await say(page, 'client tool');
  await page.getByText('Your device answered: city Lisbon').waitFor();
  await say(page, 'approval');
  const button = page.getByRole('button', { name: 'Allow', exact: true });
  await button.waitFor();
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  await button.click();
  await page.getByText('The invoice was sent.').waitFor();
  await page.getByText('send_invoice: complete').waitFor();
  await page.locator('input[type=file]').first().setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL });
  await page.locator('img[src^="data:image/png"]').first().waitFor();
  await say(page, 'sources');
  await page.locator('a[href="https://example.com/optics/prism"]').first().waitFor();
  await page.reload();
  await page.getByText('The invoice was sent.').waitFor();
  await page.getByText('send_invoice: complete').waitFor();
  await page.locator('a[href="https://example.com/optics/prism"]').first().waitFor();
  await page.getByRole('navigation').getByText('client tool').first().waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByText('The invoice was sent.').waitFor({ state: 'detached' });
  await say(page, 'image');
  await page.locator('main img').first().waitFor();
  quiet(page);
});

test('a reload in the middle of an answer goes on with it', async () => {
  const page = await start();
  await say(page, 'slow 3');
  await page.getByText('keep_silent').first().waitFor();
  await page.reload();
  await page.getByText('The silence is over.').waitFor();
  assert.equal(await page.getByText('The silence is over.').count(), 1);
  quiet(page);
});
