// Opens a built example in Chromium, one that has no program of its own: node page.mjs PAGE. PRISM_URL names the server.
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
  quiet(page);
});

test('a reload in the middle of an answer goes on with it', async () => {
  const page = await open(address);
  await say(page, 'slow 3');
  await page.getByText('keep_silent').waitFor();
  await page.reload();
  await page.getByText('The silence is over.').waitFor();
  await settled(page);
  assert.equal(await page.locator('[data-role=assistant]').count(), 1);
  quiet(page);
});

test('Enter while an answer is written sends nothing, and loses nothing', async () => {
  const page = await open(address);
  await say(page, 'slow 3');
  await page.getByText('keep_silent').waitFor();
  const field = page.getByLabel('Message', { exact: true });
  await field.fill('text');
  await field.press('Enter');
  await page.getByText('The silence is over.').waitFor();
  await settled(page);
  assert.equal(await page.locator('[data-role=user]').count(), 1);
  assert.equal(await field.inputValue(), 'text');
  await field.press('Enter');
  await page.getByText('streamed word by word').waitFor();
  assert.equal(await page.locator('[data-role=user]').count(), 2);
  quiet(page);
});
