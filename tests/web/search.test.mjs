// Runs are found in the page, and a result opens the run at the place.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { checkAccess, close, launch, open, SERVER, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const RECORDING = path.join(import.meta.dirname, '..', 'recordings', 'tool.jsonl');
const slider = (page) => page.getByRole('slider', { name: 'Playhead' });
const cursor = async (page) => Number(await slider(page).inputValue());

test('a run is searched for, opened at the first match, and gone through', async () => {
  const body = await readFile(RECORDING);
  const answer = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const { run } = await answer.json();
  const [found] = await (await fetch(`${SERVER}/api/runs?limit=1`)).json();
  assert.equal(found.run, run);
  const tool = found.tools[0];
  const page = await open(browser, '#/', { allow: [/status of 400/] });
  await page.getByRole('link', { name: 'Search runs' }).click();
  await page.getByRole('searchbox', { name: 'Text' }).fill('?!');
  await page.getByText('no letter and no digit').waitFor();
  await page.getByRole('searchbox', { name: 'Text' }).fill(tool);
  await page.getByLabel('Tool', { exact: true }).fill(tool);
  await page.getByLabel('Error', { exact: true }).fill('nothing');
  await page.getByText('No matching runs.').waitFor();
  await page.getByLabel('Error', { exact: true }).fill('');
  const result = page.getByRole('region', { name: 'Runs' }).locator(`a[href*="/run/${run}?"]`);
  await result.waitFor();
  await checkAccess(page);
  await page.waitForFunction((name) => location.hash.includes(`tool=${name}`), tool);
  await result.click();
  await slider(page).waitFor();
  await page.locator('.matches').getByText(/^1 of /).waitFor();
  const first = await cursor(page);
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('n');
  await until(async () => (await cursor(page)) > first, 'n does not go on');
  await page.keyboard.press('N');
  await until(async () => (await cursor(page)) === first, 'N does not go back');
  await page.getByRole('searchbox', { name: 'Find in run' }).fill('nowhere at all');
  await page.getByText('No matches').waitFor();
  await page.getByRole('searchbox', { name: 'Find in run' }).fill('');
  await page.getByLabel('Find in', { exact: true }).selectOption('kind:text');
  await page.locator('.matches').getByText(/match|of/).waitFor();
  await close(page);
});
