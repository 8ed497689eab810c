// Two runs side by side: chosen from a run's menu, and what differs between them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('a run is compared with another one from its menu', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await ask(page, 'tool error', { app: 'tour' });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('link', { name: 'Compare…' }).click();
  await page.getByRole('link', { name: 'tool', exact: true }).first().click();
  await page.getByText('Tools changed').waitFor();
  await page.getByText('Answer changed').waitFor();
  await page.getByText('only in A').waitFor();
  await page.getByText('only in B').click();
  await page.getByText('Lisbon').first().waitFor();
  await checkAccess(page);
  assert.match(page.url(), /#\/compare\/[^/]+\/[^/]+$/);
  await page.getByRole('link', { name: 'Swap' }).click();
  await page.getByText('only in A').click();
  await page.getByRole('link', { name: /^event \d+$/ }).first().click();
  await page.getByRole('slider', { name: 'Playhead' }).waitFor();
  await close(page);
});

test('a run compared with itself is the same, and one that is not there is a clear answer', async () => {
  const page = await open(browser, '', { allow: [/404/] });
  await ask(page, 'state', { app: 'tour' });
  const run = await page.evaluate(async () => (await (await fetch('api/runs?limit=1')).json())[0].run);
  await page.goto(`${page.url().split('#')[0]}#/compare/${run}/${run}`);
  await page.getByText('The runs are the same').waitFor();
  await page.getByRole('checkbox', { name: 'Only what differs' }).waitFor();
  await page.goto(`${page.url().split('#')[0]}#/compare/${run}/run-nobody`);
  await page.getByText("Could not compare these runs: There is no run 'run-nobody'.").waitFor();
  await close(page);
});

test('a run is run again with another instruction, and compared', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('link', { name: 'Edit and run again…' }).click();
  await page.getByRole('combobox').selectOption('tour');
  await page.getByRole('textbox', { name: 'Instruction of tour' }).fill('Say it otherwise.');
  await checkAccess(page);
  await page.getByRole('button', { name: 'Run again and compare' }).click();
  await page.getByText('Prompt changed').waitFor();
  assert.equal(await page.getByText('Tools changed').count(), 0);
  await close(page);
});
