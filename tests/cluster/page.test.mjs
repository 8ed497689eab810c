// The page over two replicas, of which the one that answers dies in mid-answer: the text goes on to its end.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, launch, loadCode, open, SERVER, settled } from '../web/browser.mjs';
import { proxy } from '../web/proxy.mjs';

/** Answers slowly, and dies; `SERVER` goes on, and is fast. */
const OWNER = JSON.parse(process.env.PRISM_OWNER);
const NETWORK = [/Failed to load resource/, /ERR_/];
const WORDS = 300;
const SOME = 3;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

let page;
afterEach((t) => afterTest(t, page));

const said = async () => (await page.locator('.message[data-role="assistant"]').last().innerText()).match(/word\d+/g) ?? [];
const reaches = (word) => page.getByText(`word${word}`, { exact: false }).first().waitFor();
const whole = Array.from({ length: WORDS }, (_, at) => `word${at + 1}`);

const kill = () => process.kill(OWNER.pid, 'SIGKILL');

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
  const chat = `chat-${crypto.randomUUID()}`;
  const message = { role: 'user', parts: [{ type: 'text', text: `long ${WORDS}` }] };
  const begun = await fetch(`${OWNER.url}/api/chat/tour`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: chat, messages: [message] }) });
  assert.equal(begun.status, 200);
  await begun.body.cancel();
  page = await open(browser, `#/app/tour/${chat}`, { url: SERVER, allow: NETWORK });
  await reaches(SOME);
  kill();
  await withoutSeam();
});

test('the replica behind the page dies, and a proxy asks another one', async () => {
  const between = await proxy(OWNER.url);
  try {
    page = await open(browser, '', { url: between.url, allow: NETWORK });
    await loadCode(page);
    await ask(page, `long ${WORDS}`, { wait: false });
    await reaches(SOME);
    kill();
    between.turnTo(SERVER);
    await withoutSeam();
  } finally {
    await page.context().close();
    between.close();
  }
});
