// What runs cost, on a server with a price list: below messages, in the timeline, in a search.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open, openPanel, say } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test('messages, the conversation, nodes and runs have costs', async () => {
  const page = await open(browser, '', { allow: [/400/] });
  await ask(page, 'tool');
  const first = page.locator('article[data-role="assistant"]').first();
  await first.getByText(/^cost [\d.]+$/).waitFor();
  await say(page, 'text');
  const last = page.locator('article[data-role="assistant"]').nth(1);
  await last.getByText(/^cost [\d.]+ \([\d.]+ in this conversation\)$/).waitFor();
  await page.locator('.tree[data-costs] .tree-row[data-row="turn"] .cost', { hasText: /^[\d.]+$/ }).first().waitFor();
  await page.locator('.tree[data-costs] .tree-row[data-row="step"] .cost', { hasText: /^[\d.]+$/ }).first().waitFor();
  await checkAccess(page);
  await openPanel(page, 'Model');
  await page.locator('section.panel[aria-label="Model"]').getByText(/tokens: .* · cost [\d.]+/).waitFor();
  await page.goto(`${page.url().split('#')[0]}#/search?cost=0.000001`);
  const found = page.getByRole('region', { name: 'Runs' });
  await found.getByRole('columnheader', { name: 'Cost' }).waitFor();
  assert.equal(await found.getByRole('row').count(), 3);
  await page.getByRole('region', { name: 'Trends' }).getByText(/for a run/).first().waitFor();
  const search = page.getByRole('combobox', { name: 'Search runs' });
  await search.fill('cost:1000 ');
  await page.getByText('No matching runs.').waitFor();
  await search.fill('cost:dear ');
  await page.getByText(/`cost` must be a number/).waitFor();
  await close(page);
});
