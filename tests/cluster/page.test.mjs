// The page over several replicas, of which the one that answers dies in mid-answer: the text goes on to its end.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { ask, launch, open, quiet, settled } from '../web/browser.mjs';
import { proxy } from '../web/proxy.mjs';

const REPLICAS = JSON.parse(process.env.PRISM_REPLICAS);
const NETWORK = [/Failed to load resource/, /ERR_/];
const WORDS = 300;
const PATIENCE = 60_000; // a lease, a takeover and a busy machine

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

let page;
afterEach(() => quiet(page));

const said = async () => (await page.locator('.message[data-role="assistant"]').last().innerText()).match(/word\d+/g) ?? [];
const reaches = (word) => page.getByText(`word${word}`, { exact: false }).first().waitFor({ timeout: PATIENCE });
const whole = Array.from({ length: WORDS }, (_, at) => `word${at + 1}`);

/** Take a replica that lives, and see to it that no other test does. */
const take = () => REPLICAS.shift();
const kill = ({ pid }) => process.kill(pid, 'SIGKILL');

/** Fail unless the answer is whole, each word once, and as it is after a reload. */
async function withoutSeam() {
  await reaches(WORDS);
  await settled(page);
  assert.deepEqual(await said(), whole);
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.reload();
  await reaches(WORDS);
  await settled(page);
  assert.deepEqual(await said(), whole);
  assert.equal(await page.locator('.message').count(), 2);
}

test('the replica of the page lives, the one that answers dies', async () => {
  const owner = take();
  const chat = `chat-${crypto.randomUUID()}`;
  const message = { role: 'user', parts: [{ type: 'text', text: `long ${WORDS}` }] };
  const begun = await fetch(`${owner.url}/api/chat/tour`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: chat, messages: [message] }) });
  assert.equal(begun.status, 200);
  await begun.body.cancel();
  page = await open(browser, `#/app/tour/${chat}`, { url: REPLICAS[0].url, allow: NETWORK });
  await reaches(20);
  kill(owner);
  await withoutSeam();
});

test('the replica behind the page dies, and a proxy asks another one', async () => {
  const owner = take();
  const between = await proxy(owner.url);
  try {
    page = await open(browser, '', { url: between.url, allow: NETWORK });
    await ask(page, `long ${WORDS}`, { wait: false });
    await reaches(20);
    kill(owner);
    between.turnTo(REPLICAS[0].url);
    await withoutSeam();
  } finally {
    await page.context().close();
    between.close();
  }
});
