// An app that another ADK server runs, whose server is killed in the middle of an answer and started again.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, chat, launch, loadCode, open, say, settled, until } from './browser.mjs';

const OURS = process.env.PRISM_REMOTE_URL;
const [COMMAND, ...WORDS] = JSON.parse(process.env.PRISM_FAR_COMMAND);

let browser;
let far;
let page;

const answers = async () => (await fetch(`${process.env.PRISM_FAR_URL}/list-apps`).catch(() => ({ ok: false }))).ok;

async function start() {
  far = spawn(COMMAND, WORDS, { stdio: 'ignore' });
  await until(answers, 'the other server does not start');
}

async function kill() {
  far.kill('SIGKILL');
  await once(far, 'exit');
}

before(async () => {
  await start();
  browser = await launch();
  page = await open(browser, '', { url: OURS, width: 1280 });
  await loadCode(page);
});
afterEach((t) => afterTest(t, page));
after(async () => {
  await browser?.close();
  far.kill('SIGKILL');
});

test('an answer of a remote app is one like any other', async () => {
  await ask(page, 'tool');
  await chat(page).getByText('sunny').first().waitFor();
  assert.equal(await page.locator('.log .tool').count(), 1);
});

test('the other server is killed in mid-answer and started again: what was said stays, and the chat goes on', async () => {
  await ask(page, 'slow 600', { wait: false });
  await chat(page).getByText('I keep silent').first().waitFor();
  await kill();
  await start();
  await settled(page);
  await chat(page).getByText('I keep silent').first().waitFor();
  const [, session] = /#\/app\/tour\/([^?]+)/.exec(page.url());
  const query = new URLSearchParams({ app: 'tour', user: 'user', session });
  const runs = await (await fetch(`${OURS}/api/runs?${query}`)).json();
  assert.deepEqual(runs.map((run) => run.outcome), ['failed']);
  await chat(page).getByText('The run stopped before this tool returned.').first().waitFor();
  assert.match((await page.getByRole('alert').allInnerTexts()).join(' '), /owner_lost/);
  await say(page, 'tool');
  await chat(page).getByText('sunny').first().waitFor();
  await settled(page);
  assert.equal(await page.locator('.message').count(), 4);
});
