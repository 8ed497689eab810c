// Looking inside: what a node is made of, and what went in and out each time it ran.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open, openPanel, say, SERVER, settled, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const panel = (page, name) => page.locator(`section.panel[aria-label="${name}"]`);
/** Click a node wherever the graph has it: it moves as the details open. */
const pick = (page, name) => vertex(page, name).dispatchEvent('click');
const vertex = (page, name) => page.locator('.react-flow__node').filter({ has: page.locator('.vertex b').getByText(name, { exact: true }) });

test('a node of the graph opens its instruction, tools, inputs and outputs, and leads to its model calls', async () => {
  const page = await open(browser);
  await ask(page, 'workflow');
  await settled(page);
  await openPanel(page, 'Graph');
  await pick(page, 'tour');
  const node = page.locator('.node-details');
  await node.getByRole('heading', { name: /^tour agent, run 1 of 1/ }).waitFor();
  await node.getByText('Instruction', { exact: true }).waitFor();
  await node.getByText(/^Tools \(/).click();
  await node.getByText(/plan_trip/).first().waitFor();
  await node.getByText('from user').waitFor();
  await checkAccess(page);
  await pick(page, 'conclude');
  await node.getByRole('heading', { name: /^conclude function/ }).waitFor();
  await node.getByText('from gather:').waitFor();
  await node.getByRole('heading', { name: 'Output' }).waitFor();
  const event = node.getByRole('button', { name: /^event / }).first();
  await event.click();
  await until(async () => /at=\d+/.test(page.url()), 'the playhead did not follow');
  await node.getByRole('heading', { name: 'Output' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Back to now/ }).click();
  await pick(page, 'route_planner');
  await node.getByRole('button', { name: /, event \d+$/ }).first().click();
  await panel(page, 'Model').getByText('Instruction', { exact: true }).waitFor();
  await close(page);
});

test('a value of the state is edited in place, and the fork and its origin link to each other', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  await settled(page);
  const origin = page.url();
  const state = await openPanel(page, 'State');
  await state.getByRole('button', { name: 'Edit trip' }).click();
  const value = state.getByRole('textbox', { name: 'Value of trip as JSON' });
  await value.fill('{"destination": ');
  await state.getByRole('button', { name: 'Keep change' }).click();
  await state.getByRole('alert').getByText('must be valid JSON').waitFor();
  await value.fill('{"destination": "Porto"}');
  await checkAccess(page);
  await state.getByRole('button', { name: 'Keep change' }).click();
  await state.getByText('In the fork: {"destination":"Porto"}').waitFor();
  await state.getByRole('button', { name: 'Add key' }).click();
  await state.getByRole('textbox', { name: 'Name of the key' }).fill('user:mood');
  await state.getByRole('textbox', { name: 'Value as JSON' }).fill('"calm"');
  await state.getByRole('button', { name: 'Keep change' }).click();
  await state.getByRole('alert').getByText('a fork cannot set them').waitFor();
  await state.getByRole('textbox', { name: 'Name of the key' }).fill('mood');
  await state.getByRole('button', { name: 'Keep change' }).click();
  await state.getByRole('button', { name: 'Fork with these changes' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('list', { name: 'State changes' }).getByText('trip').waitFor();
  await dialog.getByRole('button', { name: 'Fork & run' }).click();
  await dialog.waitFor({ state: 'detached' });
  await panel(page, 'State').getByText('Porto').first().waitFor();
  await panel(page, 'State').getByText('calm').first().waitFor();
  const back = page.getByTitle('Open the original at this event');
  await back.waitFor();
  const at = (await back.getAttribute('href')).match(/at=(\d+)/)[1];
  await checkAccess(page);
  await back.click();
  await page.waitForFunction((cursor) => location.hash.includes(`at=${cursor}`), at);
  await page.goto(origin);
  await page.getByText('1 fork', { exact: true }).click();
  await page.getByRole('link', { name: /^Fork 1/ }).click();
  await back.waitFor();
  assert.notEqual(page.url(), origin);
  await close(page);
});

test('artifacts are listed at the playhead with a preview, and memories are searched', async () => {
  const page = await open(browser);
  await ask(page, 'artifact');
  await settled(page);
  const artifacts = await openPanel(page, 'Artifacts');
  await artifacts.getByRole('heading', { name: /^note\.txt/ }).waitFor();
  await artifacts.getByText('version 0').click();
  await artifacts.getByText('A synthetic note.').waitFor();
  await artifacts.getByText('text/plain, 17 B').waitFor();
  assert.equal(await artifacts.getByRole('link', { name: 'Save' }).getAttribute('download'), 'note.txt');
  await artifacts.getByRole('searchbox', { name: 'Search the memories of this user' }).fill('note');
  await artifacts.getByRole('button', { name: 'Search' }).click();
  await artifacts.getByText('Nothing was found.').waitFor();
  await checkAccess(page);
  await say(page, 'text');
  await settled(page);
  await artifacts.getByText('No artifacts at this event').waitFor();
  await artifacts.getByRole('heading', { name: /^From other runs/ }).waitFor();
  await artifacts.getByText('note.txt').click();
  await artifacts.getByText('version 0').click();
  await artifacts.getByText('A synthetic note.').waitFor();
  await close(page);
});

test('an uploaded recording is continued in a chat of its app, and links back', async () => {
  const body = await readFile(path.join(import.meta.dirname, '..', 'recordings', 'state.jsonl'));
  const answer = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const { run } = await answer.json();
  const page = await open(browser, `#/run/${run}`);
  await page.getByRole('button', { name: 'Continue in a chat' }).click();
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.getByRole('log').getByText("Both are in the session's state now.").waitFor();
  await say(page, 'text');
  await settled(page);
  await checkAccess(page);
  await page.getByTitle('Open the original at this event').click();
  await page.getByText('1 fork', { exact: true }).waitFor();
  await close(page);
});
