// Runs are found in the page: filters are chips, and a result opens the run at the place.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open, SERVER, settled, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const RECORDING = path.join(import.meta.dirname, '..', 'recordings', 'tool.jsonl');
const slider = (page) => page.getByRole('slider', { name: 'Playhead' });
const cursor = async (page) => Number(await slider(page).inputValue());
const box = (page) => page.getByRole('combobox', { name: 'Search runs' });
const table = (page) => page.getByRole('region', { name: 'Runs', exact: true });
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));

/** Upload a recording; return its run, as a search finds it. */
async function uploaded() {
  const body = await readFile(RECORDING);
  const answer = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const { run } = await answer.json();
  const [found] = await (await fetch(`${SERVER}/api/runs?limit=1`)).json();
  assert.equal(found.run, run);
  return found;
}

test('a run is searched for, opened at the first match, and gone through', async () => {
  const { run, tools: [tool] } = await uploaded();
  const page = await open(browser, '#/', { allow: [/status of 400/] });
  await page.getByRole('navigation', { name: 'Apps and conversations' }).getByRole('link', { name: 'Runs' }).click();
  await box(page).fill('?!');
  await page.getByText('no letter and no digit').waitFor();
  await box(page).fill(`${tool} tool:${tool} error:nothing `);
  await page.getByText('No run fits').waitFor();
  await page.getByRole('button', { name: 'Remove filter error:nothing' }).click();
  const result = table(page).locator(`a[href*="/run/${run}?"]`);
  await result.waitFor();
  await checkAccess(page);
  await until(async () => (await hash(page)).includes(`tool=${tool}`), 'the address does not hold the filter');
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

test('filters are suggested, chosen and removed with the keyboard alone', async () => {
  await uploaded();
  const page = await open(browser, '#/search?outcome=finished&minTokens=1');
  await page.getByRole('button', { name: 'Remove filter outcome:finished' }).waitFor();
  await page.getByRole('button', { name: 'Remove filter tokens>1' }).waitFor();
  await box(page).focus();
  await page.keyboard.type('ag');
  await page.getByRole('option', { name: /^agent: / }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  const option = page.getByRole('option').first();
  await option.waitFor();
  const [name] = (await option.innerText()).split(/\s/);
  await page.keyboard.press('ArrowDown');
  await checkAccess(page);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Remove filter ${name}` }).waitFor();
  assert.equal(await box(page).inputValue(), '');
  await until(async () => (await hash(page)).includes(`agent=${name.slice('agent:'.length)}`), 'the address lacks the agent');
  await page.keyboard.press('ArrowDown');
  await option.waitFor();
  await page.keyboard.press('Escape');
  await option.waitFor({ state: 'hidden' });
  for (const filter of ['tokens>1', name, 'outcome:finished']) {
    await page.keyboard.press('Backspace');
    await page.getByRole('button', { name: `Remove filter ${filter}` }).waitFor({ state: 'detached' });
  }
  await until(async () => (await hash(page)) === '#/search', 'the address keeps a filter');
  await close(page);
});

test('columns sort, trends lead to their runs, and a search is saved under a name', async () => {
  await uploaded();
  await uploaded();
  const page = await open(browser, '#/search');
  await table(page).waitFor();
  await page.getByRole('button', { name: 'Tokens' }).click();
  await page.locator('th[aria-sort="descending"]').filter({ hasText: 'Tokens' }).waitFor();
  await until(async () => (await hash(page)).includes('sort=most-tokens'), 'the address lacks the order');
  await page.getByRole('region', { name: 'Trends' }).getByText('95th percentile').first().waitFor();
  await page.getByText('Show numbers').click();
  await page.getByRole('region', { name: 'Trends in numbers' }).getByRole('link').first().click();
  await page.getByRole('button', { name: /^Remove filter since:\d+$/ }).waitFor();
  await page.getByRole('button', { name: 'Save view' }).click();
  await page.getByRole('textbox', { name: 'Name of this view' }).fill('That hour');
  await page.keyboard.press('Enter');
  const view = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'That hour' });
  await view.and(page.locator('[aria-current="page"]')).waitFor();
  await page.getByRole('link', { name: 'All', exact: true }).click();
  await page.reload();
  await view.click();
  await page.getByRole('button', { name: /^Remove filter until:\d+$/ }).waitFor();
  await page.getByRole('button', { name: 'Remove view That hour' }).click();
  await view.waitFor({ state: 'detached' });
  await close(page);
});

test('an answered request stands above the run that went on with it, and waits no longer', async () => {
  const page = await open(browser);
  await ask(page, 'approval', { app: 'tour', wait: false });
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await settled(page);
  const session = await page.evaluate(() => location.hash.split('/')[3].split('?')[0]);
  await page.goto(`${SERVER}/#/search?session=${session}`);
  const rows = table(page).getByRole('row');
  await rows.nth(2).waitFor();
  await rows.nth(1).getByText('Answered').waitFor();
  await rows.nth(2).getByRole('link', { name: 'Continued after an answer' }).waitFor();
  await page.goto(`${SERVER}/#/search?session=${session}&outcome=waiting`);
  await page.getByText('No run fits').waitFor();
  await page.goto(`${SERVER}/#/search?session=${session}&outcome=finished`);
  await table(page).getByRole('link', { name: 'approval (continued)', exact: true }).waitFor();
  await close(page);
});

for (const [width, dark] of [[390, false], [1920, true]]) {
  test(`the table fits ${width} pixels`, async () => {
    await uploaded();
    const page = await open(browser, '#/search', { width, height: 900, dark });
    await table(page).waitFor();
    await page.getByRole('region', { name: 'Trends' }).waitFor();
    await checkAccess(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than the screen');
    await close(page);
  });
}
