// Opens the built example in Chromium: node nextjs.mjs PAGE. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approve, attach, open, quiet, reload, say, settled, startAnother } from './example.mjs';

const [address] = process.argv.slice(2);

async function signIn(user) {
  const page = await open(address);
  await page.getByLabel('Name').fill(user);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Message').waitFor();
  return page;
}

test('a chat with approval, a tool of the page, files, sources and history', async () => {
  const page = await signIn('ann');
  await approve(page);
  await attach(page);
  await reload(page);
  await startAnother(page, 'mixed batch');
  await say(page, 'text');
  await page.getByText('streamed word by word').waitFor();
  quiet(page);
});

test('a reload in the middle of an answer goes on with it; others see nothing of it', async () => {
  const page = await signIn('ben');
  await page.goto(`${address}diary/held`);
  await say(page, 'say [gate_next] more');
  const answer = page.locator('[data-role=assistant]');
  await answer.getByText('gate_next').waitFor();
  await page.reload();
  await answer.getByText('gate_next').waitFor();
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  const helper = await signIn('cleo');
  await helper.goto(`${address}diary/held`);
  await helper.getByLabel('Message').waitFor();
  assert.equal(await helper.locator('[data-role]').count(), 0);
  await helper.goto(`${address}diary/opener`);
  await say(helper, 'open gate_next');
  await answer.getByText('more').waitFor();
  await settled(page);
  assert.equal(await answer.count(), 1);
  quiet(page);
  quiet(helper);
});

test('an answer is stopped on the server', async () => {
  const page = await signIn('dora');
  await page.goto(`${address}diary/stopped`);
  await say(page, 'say [gate_never] more');
  await page.locator('[data-role=assistant]').getByText('gate_never').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await settled(page);
  const runs = () => page.evaluate(async () => (await fetch('/prism/api/runs?session=stopped')).json());
  while ((await runs())[0].outcome === null) await page.waitForTimeout(50);
  assert.equal((await runs())[0].outcome, 'cancelled');
});

test('nobody gets through who is not signed in, nor a page of another site', async () => {
  const url = `${address}prism/api/conversations`;
  assert.equal((await fetch(url, { headers: { 'x-user': 'ann' } })).status, 401);
  assert.equal((await fetch(url, { headers: { cookie: `session=ann.${'0'.repeat(64)}` } })).status, 401);
  const page = await signIn('ann');
  const [{ name, value }] = (await page.context().cookies()).filter((cookie) => cookie.httpOnly);
  const headers = { cookie: `${name}=${value}`, 'x-user': 'ben', 'sec-fetch-site': 'cross-site' };
  assert.equal((await fetch(`${address}prism/api/chat/tour`, { method: 'POST', headers, body: '{}' })).status, 403);
  const listed = await (await fetch(url, { headers })).json();
  assert.deepEqual([...new Set(listed.map(({ user }) => user))], ['ann']);
});
