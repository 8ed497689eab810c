// Opens the built example in Chromium: node assistant_ui.mjs PAGE. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approve, attach, open, quiet, reload, say, settled, startAnother } from './example.mjs';

const [address] = process.argv.slice(2);

test('a chat with approval, a tool of the page, files, sources and history', async () => {
  const page = await open(address);
  await approve(page);
  await attach(page);
  await reload(page);
  await startAnother(page, 'mixed batch');
  await say(page, 'text');
  await page.getByText('streamed word by word').waitFor();
  await page.getByRole('navigation').getByText('mixed batch').first().click();
  await page.getByText('The invoice was sent').first().waitFor();
  quiet(page);
});

test('a reload in the middle of an answer goes on with it; thumbs reach the server', async () => {
  const page = await open(address);
  await say(page, 'text');
  await page.getByText('streamed word by word').waitFor();
  await settled(page);
  const judged = page.waitForResponse((response) => response.url().endsWith('/feedback') && response.request().method() === 'POST');
  await page.getByText('Good answer').first().click();
  assert.ok((await judged).ok());
  await say(page, 'slow 3');
  await page.getByText('keep_silent').waitFor();
  await page.reload();
  await page.getByText('The silence is over.').waitFor();
  await settled(page);
  assert.equal(await page.locator('[data-role=assistant]').count(), 2);
  quiet(page);
});
