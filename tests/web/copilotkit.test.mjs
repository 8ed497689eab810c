// A page of CopilotKit (`copilotkit/page.tsx`) on the runtime that this server is: no Node server between them.
// The page lies on the server's own address, where the browser takes its files from the build.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { launch, PATIENCE, SERVER, until } from './browser.mjs';

const BUILT = path.join(import.meta.dirname, 'copilotkit', 'dist');
const PLACE = '/kit/';

let browser;
let threads = 0;
before(async () => {
  assert.ok(existsSync(path.join(BUILT, 'index.html')), `${BUILT} holds no page: run the tests through \`make test-all\``);
  browser = await launch();
});
after(() => browser.close());

/** Open the page on a thread of its own, or on the given one. */
async function open(options = {}) {
  const { thread = `kit-${process.pid}-${(threads += 1)}`, agent = 'tour', single = false } = options;
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, reducedMotion: 'reduce' });
  await context.route(`**${PLACE}**`, (route) => {
    const name = new URL(route.request().url()).pathname.slice(PLACE.length);
    return route.fulfill({ path: path.join(BUILT, name || 'index.html') });
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(`thrown: ${error.stack ?? error}`));
  page.asked = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== new URL(SERVER).origin) page.troubles.push(`request to ${url}`);
    if (url.pathname.startsWith('/api/')) page.asked.push({ path: url.pathname, body: request.postDataJSON() });
  });
  page.thread = thread;
  const query = new URLSearchParams({ thread, ...(agent ? { agent } : {}), ...(single ? { single: '1' } : {}) });
  await page.goto(`${SERVER}${PLACE}index.html?${query}`);
  await page.getByRole('textbox').first().waitFor();
  await until(() => page.asked.some(({ path: at, body }) => at.endsWith('/connect') || body?.method === 'agent/connect'), 'the page did not connect');
  return page;
}

async function say(page, text) {
  const box = page.getByRole('textbox').first();
  await box.fill(text);
  await box.press('Enter');
}

/** Wait until the thread's only run has ended in this way. */
async function outcome(page, wanted) {
  const runs = async () => (await fetch(`${SERVER}/api/runs?session=${page.thread}`)).json();
  await until(async () => (await runs())[0]?.outcome === wanted, `the run is not ${wanted}`);
}

const shows = (page, text) => page.getByText(text).first().waitFor();
const lacks = async (page, text) => assert.equal(await page.getByText(text).count(), 0, `the page shows ${text}`);

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
}

test('an answer is streamed, a tool is shown by its name, and a reload shows the same', async () => {
  const page = await open();
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  await say(page, 'tool');
  await page.getByTestId('weather').getByText('complete: Lisbon').waitFor();
  await shows(page, 'It is sunny in Lisbon');
  await page.reload();
  await shows(page, 'It is sunny in Lisbon');
  await page.getByTestId('weather').getByText('complete: Lisbon').waitFor();
  assert.equal(await page.getByText('streamed word by word').count(), 1);
  await close(page);
});

test('an approval is given, denied and left', async () => {
  for (const [button, answer] of [['Approve', 'The invoice was sent'], ['Deny', /The invoice was not|The invoice .*den/], ['Leave it', /The invoice was not|The invoice .*den/]]) {
    const page = await open();
    await say(page, 'approval');
    await page.getByTestId('question').waitFor();
    await page.getByRole('button', { name: button }).click();
    await page.getByTestId('question').waitFor({ state: 'detached' });
    await shows(page, answer);
    await say(page, 'text');
    await shows(page, 'streamed word by word');
    await close(page);
  }
});

test('two questions are answered together, also after a reload', async () => {
  const page = await open();
  await say(page, 'two approvals');
  await until(async () => (await page.getByTestId('question').count()) === 2, 'there are not two questions');
  await page.reload();
  await until(async () => (await page.getByTestId('question').count()) === 2, 'the questions are not back');
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await page.getByRole('button', { name: 'Approve' }).nth(1).click();
  await page.getByTestId('question').first().waitFor({ state: 'detached' });
  await until(() => page.asked.some(({ body }) => body?.resume?.length === 2), 'no answer to both');
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  await close(page);
});

test('a request for input is answered with what its schema says', async () => {
  const page = await open();
  await say(page, 'input request');
  const asked = page.getByTestId('question');
  await asked.waitFor();
  assert.equal(await asked.getAttribute('data-reason'), 'input_required');
  await page.getByRole('button', { name: 'Approve' }).click();
  await asked.waitFor({ state: 'detached' });
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  await close(page);
});

test('a tool of the page runs there, and the agent goes on with its result', async () => {
  const page = await open();
  await say(page, 'client tool');
  await shows(page, /Rome/);
  await close(page);
});

test('state goes both ways', async () => {
  const page = await open();
  await page.getByRole('button', { name: 'Dark' }).click();
  await say(page, 'state');
  const state = page.getByTestId('state');
  const read = async () => JSON.parse(await state.innerText());
  await outcome(page, 'finished');
  const stored = await (await fetch(`${SERVER}/api/copilotkit/threads/${page.thread}/state`)).json();
  assert.equal(stored.state.theme, 'dark');
  assert.ok(Object.keys(stored.state).length > 1, 'the agent changed nothing');
  await until(async () => isDeepStrictEqual(await read(), stored.state), 'the page has another state');
  await page.reload();
  await until(async () => isDeepStrictEqual(await read(), stored.state), 'the state is not back');
  await close(page);
});

test('a reload comes back to the run that is on', async () => {
  const page = await open();
  await say(page, 'slow 6');
  await shows(page, 'I keep silent');
  const runs = page.asked.filter(({ path: at }) => at.endsWith('/run')).length;
  await page.reload();
  await shows(page, 'The silence is over.');
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  assert.equal(page.asked.filter(({ path: at }) => at.endsWith('/run')).length, runs + 1);
  await close(page);
});

test('a run is stopped', async () => {
  const page = await open();
  await say(page, 'slow 60');
  await shows(page, 'I keep silent');
  await page.getByTestId('copilot-send-button').click();
  await outcome(page, 'cancelled');
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  await close(page);
});

test('a run that fails does not break the page', async () => {
  const page = await open();
  await say(page, 'exception');
  await outcome(page, 'failed');
  await say(page, 'text');
  await shows(page, 'streamed word by word');
  await lacks(page, /Traceback/);
  await close(page);
});

test('one address for everything, and a page that names no agent', async () => {
  const single = await open({ single: true });
  await say(single, 'text');
  await shows(single, 'streamed word by word');
  assert.ok(single.asked.some(({ path: at, body }) => at === '/api/copilotkit' && body?.method === 'agent/run'));
  await close(single);
  const unnamed = await open({ agent: '' });
  await until(() => unnamed.asked.some(({ path: at }) => at.endsWith('/agent/default/connect')), 'it asks for another agent');
  await close(unnamed);
});
