// The panels on the real server: each shows the run at the playhead, and all travel together.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open, openPanel, SERVER, settled, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const RECORDINGS = path.join(import.meta.dirname, '..', 'recordings');
const PANELS = ['Graph', 'State', 'Proof', 'Grounding', 'Event', 'Model', 'Artifacts'];

const slider = (page) => page.getByRole('slider', { name: 'Playhead' });
const cursor = async (page) => Number(await slider(page).inputValue());
/** Wait until the playhead stands at an event. */
const stands = (page, at) => until(async () => (await cursor(page)) === at, `the playhead is not at event ${at}`);
const panel = (page, name) => page.locator(`section.panel[aria-label="${name}"]`);

async function seek(page, at) {
  await slider(page).fill(String(at));
  await stands(page, at);
}

/** Put the focus where no key is anybody's. */
async function rest(page) {
  await page.evaluate(() => document.activeElement?.blur());
}

async function upload(name) {
  const body = await readFile(path.join(RECORDINGS, `${name}.jsonl`));
  const answer = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const { run } = await answer.json();
  assert.ok(run, `${name} was not taken`);
  return run;
}

async function openRun(name, query = '', options = {}) {
  const page = await open(browser, `#/run/${await upload(name)}${query}`, options);
  await (options.width < 800 ? page.locator('.message').first() : slider(page)).waitFor();
  return page;
}

test('the playhead moves by events, nodes, failures and peers, and says where it is', async () => {
  const page = await openRun('x_retried_node');
  const last = await cursor(page);
  await rest(page);
  await page.keyboard.press('Alt+ArrowLeft');
  await stands(page, last - 1);
  await page.keyboard.press('Alt+ArrowRight');
  await stands(page, last);
  assert.match(await slider(page).getAttribute('aria-valuetext'), /^step (\d+) of \1, run \w+, \d/);
  await seek(page, 1);
  await rest(page);
  await page.keyboard.press('Shift+ArrowRight');
  assert.match(await slider(page).getAttribute('aria-valuetext'), / started, /);
  await page.keyboard.press('f');
  const failure = await cursor(page);
  assert.match(await slider(page).getAttribute('aria-valuetext'), /failed/);
  await page.keyboard.press('p');
  assert.notEqual(await cursor(page), failure);
  await page.waitForFunction((at) => location.hash.includes(`at=${at}`), await cursor(page));
  await close(page);
});

test('the film plays to its end, and from its start when it is there', async () => {
  const page = await openRun('text');
  const last = await cursor(page);
  for (const speed of [1, 4, 16]) await page.getByRole('button', { name: `Speed ${speed}×` }).click();
  await page.getByRole('button', { name: 'Speed 1×' }).waitFor();
  await rest(page);
  await page.keyboard.press(' ');
  await page.getByRole('button', { name: 'Pause' }).or(page.getByRole('button', { name: 'Play', exact: true })).first().waitFor();
  await page.waitForFunction((end) => document.querySelector('[aria-label="Playhead"]').value === String(end), last);
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
  await close(page);
});

test('the trace has a row for each step; selecting one inspects it, and does not travel', async () => {
  const page = await openRun('parallel_specialists');
  const tree = page.getByRole('tree', { name: 'Steps' });
  const names = () => tree.locator('.tree-title').allTextContents();
  assert.deepEqual((await names()).filter((name) => /^(Agent|Tool) /.test(name)), ['Agent Tour', 'Agent Weather specialist', 'Tool get_weather', 'Agent Food specialist', 'Agent Budget specialist']);
  const last = await cursor(page);
  await tree.getByRole('treeitem', { name: /Tool get_weather/ }).click();
  const step = panel(page, 'Step');
  await step.getByRole('heading', { name: 'get_weather' }).waitFor();
  await page.waitForFunction(() => location.hash.includes('step=n'));
  assert.equal(await cursor(page), last, 'selecting has travelled');
  await step.getByRole('tab', { name: 'Input' }).click();
  await step.getByRole('tabpanel').getByText('Arguments').waitFor();
  await checkAccess(page);
  await page.reload();
  await step.getByRole('heading', { name: 'get_weather' }).waitFor();
  await step.getByRole('button', { name: 'Travel here' }).click();
  await page.getByText(/^Step \d+ of \d+ · /).waitFor();
  await page.getByRole('button', { name: /^Back to now/ }).click();
  await stands(page, last);
  await tree.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await step.getByRole('heading', { name: 'Tour' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await tree.getByRole('treeitem', { name: /Tool get_weather/ }).waitFor({ state: 'detached' });
  await close(page);
});

test('a range is picked with keys and with the pointer, is in the address, and ends with Escape', async () => {
  const page = await openRun('parallel_specialists');
  const bar = page.getByRole('group', { name: 'Selected range' });
  const last = await cursor(page);
  await seek(page, 5);
  await rest(page);
  await page.keyboard.press('[');
  await bar.getByText('Event 5').waitFor();
  await page.keyboard.press('ArrowRight');
  await bar.getByText(/^Events 5 to/).waitFor();
  await seek(page, 40);
  await rest(page);
  await page.keyboard.press(']');
  await bar.getByText('Events 5 to 40').waitFor();
  assert.match(await bar.innerText(), /ms · .*tool call.*token/s);
  await page.waitForFunction(() => location.hash.includes('range=5-40'));
  await page.reload();
  await bar.getByText('Events 5 to 40').waitFor();
  await checkAccess(page);
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'detached' });
  const box = await slider(page).boundingBox();
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 1, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.move(box.x + box.width - 1, box.y + box.height / 2);
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await bar.getByText(`Events 1 to ${last}`).waitFor();
  assert.equal(await cursor(page), 40);
  await bar.getByRole('button', { name: 'Clear the range' }).click();
  await page.getByRole('button', { name: 'Select range' }).waitFor();
  await close(page);
});

test('every panel travels with the playhead', async () => {
  const page = await openRun('state');
  const state = await openPanel(page, 'State');
  await seek(page, 5);
  await state.getByText('No state yet').waitFor();
  await page.getByRole('log').getByText('note_trip').waitFor({ state: 'detached' });
  await seek(page, 12);
  await state.getByRole('button', { name: 'trip', exact: true }).waitFor();
  await page.getByRole('log').getByText('note_trip').waitFor();
  await openPanel(page, 'Graph');
  await page.locator('.vertex[data-status="running"]').getByText('tour').waitFor();
  await page.locator('.vertex[data-status="finished"]').getByText('note_trip').waitFor();
  await page.locator('.vertex[data-status="later"]').getByText('note_budget').waitFor();
  const event = await openPanel(page, 'Event');
  await event.getByRole('heading', { name: 'Event 12 of 30' }).waitFor();
  await page.reload();
  await stands(page, 12);
  await close(page);
});

test('an answer that spans two runs is one: one trace, one graph, and the past of both', async () => {
  const page = await open(browser);
  await ask(page, 'approval');
  await page.getByRole('button', { name: 'Approve' }).click();
  const log = page.getByRole('log');
  await log.getByText('The invoice was sent.').waitFor();
  await settled(page);
  await until(async () => / run finished, /.test(await slider(page).getAttribute('aria-valuetext')), 'the run has not ended in the film');
  const tree = page.getByRole('tree', { name: 'Steps' });
  await tree.getByRole('treeitem', { name: /Approval of send_invoice/ }).waitFor();
  assert.equal(await tree.getByRole('treeitem', { name: /Tool send_invoice/ }).count(), 1);
  assert.equal(await tree.getByRole('treeitem', { name: /Agent Tour/ }).count(), 1);
  const graph = await openPanel(page, 'Graph');
  await graph.locator('.vertex[data-status="finished"]').getByText('send_invoice').waitFor();
  await seek(page, 19);
  await page.getByText(/^Step \d+ of \d+ · /).waitFor();
  await log.getByText('I need your approval').waitFor(); // what the first run said
  await log.getByText('The invoice was sent.').waitFor({ state: 'detached' });
  await seek(page, 10);
  await page.waitForFunction(() => location.hash.includes('run=') && location.hash.includes('at=10'));
  await page.reload();
  await stands(page, 10);
  await log.getByText('I need your approval').waitFor();
  await page.getByRole('button', { name: /^Back to now/ }).click();
  await log.getByText('The invoice was sent.').waitFor();
  await log.locator('.tool[data-state="output-available"]').waitFor();
  await close(page);
});

test('the columns of the trace have headings, above their numbers', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await openPanel(page, 'Trace');
    const edges = (row) => row.evaluate((element) => [...element.querySelectorAll('.tree-number:not(.cost)')].map((cell) => cell.getBoundingClientRect().right));
    const head = page.locator('.tree-head');
    assert.equal((await head.innerText()).replace(/\s+/g, ' ').trim(), 'Step Time Tokens');
    assert.deepEqual(await edges(head), await edges(page.locator('.tree-row[data-row="turn"]').first()));
  }
  await checkAccess(page);
  await close(page);
});

test('whoever writes in the past forks the conversation there', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  await until(async () => / run finished, /.test(await slider(page).getAttribute('aria-valuetext')), 'the run has not ended in the film');
  await seek(page, 12);
  const before = page.url().split('?')[0];
  const field = page.getByPlaceholder('Reply from here: creates a fork');
  await field.fill('text');
  await page.keyboard.press('Enter');
  await page.waitForFunction((old) => location.href.split('?')[0] !== old, before);
  await settled(page);
  await page.locator('.heading-title', { hasText: 'Fork of' }).waitFor();
  // What the copied answer took is what it took where it was given, and its run is a click away.
  const copied = page.locator('[data-role="assistant"] .message-facts').first();
  await copied.getByRole('link', { name: 'Original run' }).waitFor();
  assert.match(await copied.innerText(), /[1-9]\d* ms|\d s/);
  await copied.getByRole('link', { name: 'Original run' }).click();
  await page.getByText('Read-only run').waitFor();
  await close(page);
});

test('what was said inside a tool is in its group, further in', async () => {
  const page = await openRun('agent_tool');
  const group = page.getByRole('log').locator('.group');
  await group.getByRole('button').first().click();
  const [outer, inner] = await Promise.all([group.boundingBox(), group.locator('.part').first().boundingBox()]);
  assert.ok(inner.x > outer.x);
  await close(page);
});

test('a number in a briefing leads to its citation', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery' });
  const group = page.getByRole('log').getByRole('group', { name: 'Burn analyst', exact: true }).first();
  assert.match(await group.innerText(), /3 tools · 76% · [\d.]+ m?s/);
  await page.getByRole('log').getByRole('button', { name: 'Source 23' }).first().click();
  const cited = page.locator('.citation[data-picked]');
  await cited.getByText('36 CFR 220.6(e)(13)').waitFor();
  await until(() => cited.evaluate((line) => line === document.activeElement), 'the citation has not the focus');
  await checkAccess(page);
  await close(page);
});

test('state: what changed since when, who wrote it, and every write of a key', async () => {
  const page = await openRun('state', '?at=18&panel=state');
  const state = panel(page, 'State');
  await state.getByText('by note_budget').waitFor();
  await state.getByLabel('Compared with').selectOption('start');
  await state.getByText('2 changes since the start').waitFor();
  await page.goto(page.url().replace(/since=\w+/, 'since=10'));
  await state.getByText('budget.amount').waitFor();
  await state.getByText('+ 1200').waitFor();
  await state.getByRole('button', { name: 'trip', exact: true }).click();
  await state.getByText('2 writes').waitFor();
  await state.getByRole('button', { name: 'event 10' }).click();
  await stands(page, 10);
  await state.getByRole('searchbox', { name: 'Filter keys' }).fill('zzz');
  await state.getByText('No key has “zzz” in its name').waitFor();
  await until(() => state.getByRole('button', { name: 'Fork from here' }).isDisabled(), 'it can be forked');
  await checkAccess(page);
  await close(page);
});

test('a run of this server is forked with a changed state, and bad JSON is explained', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  const state = await openPanel(page, 'State');
  await state.getByRole('button', { name: 'Fork from here' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^State changes/).fill('{');
  await dialog.getByRole('button', { name: 'Fork & run' }).click();
  await dialog.getByRole('alert').getByText('must be valid JSON').waitFor();
  await dialog.getByLabel(/^State changes/).fill('{"mood": "calm"}');
  await dialog.getByLabel(/^Message/).fill('text');
  const before = page.url();
  await dialog.getByRole('button', { name: 'Fork & run' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.notEqual(page.url(), before);
  await settled(page);
  await panel(page, 'State').getByRole('button', { name: 'mood', exact: true }).waitFor();
  await close(page);
});

test('graph: what ran beside what is declared, keys only where they were seen, and a table', async () => {
  const page = await open(browser);
  await ask(page, 'workflow');
  const graph = await openPanel(page, 'Graph');
  const edges = page.locator('.react-flow__edge');
  await graph.locator('.vertex', { hasText: 'route_planner' }).waitFor();
  await until(async () => (await edges.count()) > 5, 'edges are missing');
  const path = edges.first().locator('path').first();
  const size = async () => (await path.boundingBox()) ?? { height: 0, width: 0 };
  await until(async () => (await size()).height + (await size()).width > 5, 'the edge is not drawn');
  const key = graph.locator('.carried').getByRole('button', { name: 'planned_trip' }).first();
  await key.hover();
  await until(async () => (await page.locator('.react-flow__edge.lit').count()) > 1, 'the edges are not lit');
  await key.click();
  await page.waitForFunction(() => location.hash.includes('sel=key%3Aplanned_trip'));
  await graph.getByRole('button', { name: 'Show unused' }).click();
  await graph.locator('.vertex[data-status="did not run"]').first().waitFor();
  await page.locator('.react-flow__edge.declared').first().waitFor({ state: 'attached' });
  await graph.getByRole('button', { name: 'Every call' }).click();
  await graph.getByRole('button', { name: 'Table' }).click();
  await graph.getByRole('table', { name: 'Edges' }).getByRole('row', { name: /brief.*planned_trip/ }).first().waitFor();
  await checkAccess(page);
  await close(page);
});

test('graph: it is drawn smaller, dragged, scrolled, and left alone by a double click', async () => {
  const page = await openRun('parallel_specialists', '?panel=graph');
  const view = page.locator('.react-flow__viewport');
  const place = () => view.evaluate((element) => new DOMMatrix(getComputedStyle(element).transform)).then(({ a, e, f }) => [a, e, f]);
  await page.locator('.vertex', { hasText: 'food_specialist' }).waitFor();
  const [zoom, left] = await place();
  await page.getByRole('button', { name: 'Zoom Out' }).click();
  await page.waitForFunction((before) => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a < before, zoom);
  const box = await page.locator('.canvas').boundingBox();
  const [x, y] = [box.x + box.width - 20, box.y + 20];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - 60, y, { steps: 4 });
  await page.mouse.up();
  await until(async () => (await place())[1] !== left, 'it is not dragged');
  const moved = await until(async () => { const now = await place(); return `${now}` === `${await place()}` && now; }, 'it goes on moving');
  await page.mouse.dblclick(x, y);
  assert.deepEqual(await place(), moved);
  await page.mouse.wheel(0, 60);
  await page.waitForFunction((before) => new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).f !== before, moved[2]);
  await close(page);
});

test('proof: how sure, and from where', async () => {
  const page = await openRun('raw/x_recovery_capture', '?panel=proof');
  const proof = panel(page, 'Proof');
  await proof.getByText('90%').first().waitFor();
  await proof.getByText('Stated by the answer itself.').waitFor();
  await proof.getByText('Cedar Creek timber plot data').first().waitFor();
  // A specialist with a source gave the figures of the only statement that has some.
  assert.equal(await proof.getByText('Statements without a source').count(), 0);
  assert.doesNotMatch(await proof.innerText(), /\w_\w|\d\.\d{3}|parsed|computed/, 'internals stand outside of the details');
  const section = proof.locator('details.specialist', { hasText: 'Nepa advisor' });
  await section.locator('summary').first().click();
  await section.getByText('How it was worked out').click();
  await section.getByText('nepa_advisor').waitFor();
  await proof.getByRole('button', { name: 'event 3' }).first().click();
  await stands(page, 3);
  await proof.getByText('The run has not finished at this point').waitFor();
  await close(page);
});

test('event: the entry, its facts, and its frames in every protocol', async () => {
  const page = await openRun('tool', '?panel=event');
  const event = panel(page, 'Event');
  await event.getByText('RunOver').waitFor();
  await event.getByText('[DONE]').first().waitFor();
  await event.getByRole('button', { name: /^AI SDK 7/ }).click();
  for (const name of ['ADK', 'AI SDK 6', 'AI SDK 7', 'Studio']) await event.getByRole('heading', { name: new RegExp(`^${name}`) }).waitFor();
  await rest(page);
  await page.keyboard.press('Alt+ArrowLeft');
  await event.getByText('NodeFinished').waitFor();
  await close(page);
});

test('grounding: a plan is answered by a key, and the box is edited without calling the model', async () => {
  const page = await open(browser);
  await ask(page, 'What is known about explainable AI in medicine?', { app: 'research' });
  const box = await openPanel(page, 'Grounding');
  await box.getByText('pending plan').waitFor();
  // The chat's card has the same four answers, in the place of yes and no.
  const card = page.getByRole('log').getByRole('group', { name: 'Answer to the plan' });
  await card.getByRole('button').nth(3).waitFor();
  assert.deepEqual((await card.getByRole('button').allInnerTexts()).map((words) => words.trim().split('\n')[0].replace(/ .$/, '')), ['OK', 'Short run', 'Modify', 'Cancel']);
  await box.getByRole('textbox', { name: 'Another assumption' }).fill('Only adults');
  await page.keyboard.press('Enter');
  await box.getByRole('list', { name: 'Assumptions' }).getByText('Only adults').waitFor();
  await box.getByRole('button', { name: 'Remove: Only adults' }).click();
  await box.getByRole('list', { name: 'Assumptions' }).getByText('Only adults').waitFor({ state: 'detached' });
  await box.locator('button:enabled', { hasText: 'Modify' }).waitFor();
  await rest(page);
  await page.keyboard.press('m');
  await page.getByRole('textbox', { name: 'What should change' }).waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  await rest(page);
  await page.keyboard.press('o');
  await box.getByRole('region', { name: 'Receipts' }).or(box.locator('[aria-label="Receipts"]')).first().getByText(/result/).first().waitFor();
  await box.getByRole('button', { name: 'Copy the search strategy as Markdown' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^# Search strategy/);
  await checkAccess(page);
  await close(page);
});

for (const dark of [false, true]) {
  test(`every panel of a run that nobody here has seen, ${dark ? 'dark' : 'light'}, keeps the rules of access`, async () => {
    const page = await openRun('raw/x_recovery_capture', '', { dark });
    for (const name of PANELS) {
      await openPanel(page, name);
      await checkAccess(page);
    }
    await close(page);
  });
}

test('on a narrow screen every panel is a tab', async () => {
  const page = await openRun('approval', '', { width: 390, height: 844 });
  for (const name of [...PANELS, 'Trace']) {
    await openPanel(page, name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${name} is ${wide} wide`);
  }
  await checkAccess(page);
  await close(page);
});
