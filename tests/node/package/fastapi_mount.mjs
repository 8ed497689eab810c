// Opens the shop in Chromium, and adk-prism's page inside it: node fastapi_mount.mjs PAGE. PRISM_URL is the same address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, quiet } from './example.mjs';
import { newChat, say, settled } from '../../web/browser.mjs';

const [address] = process.argv.slice(2);

async function signIn(user) {
  const page = await open(address);
  await page.getByLabel('Name').fill(user);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Ask the agent' }).click();
  await newChat(page, 'shop');
  return page;
}

test('an order is cancelled by the agent, after approval, and the shop knows', async () => {
  const page = await signIn('ann');
  await say(page, 'cancel');
  const button = page.getByRole('button', { name: 'Approve' });
  await button.waitFor();
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  await button.click();
  await page.getByText(/cancel_order: .*cancelled.*17/).waitFor();
  await settled(page);
  await say(page, 'nearest shop');
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Lisbon"}');
  await page.getByRole('button', { name: 'Send result' }).click();
  await page.getByText(/get_location: .*Lisbon/).waitFor();
  await settled(page);
  await say(page, 'returns');
  await page.getByText('You have thirty days.').waitFor();
  await page.locator('a[href="https://example.com/returns"]').first().waitFor();
  await page.reload();
  await page.getByText(/get_location: .*Lisbon/).waitFor();
  await page.getByText(/cancel_order: .*cancelled.*17/).waitFor();
  await page.goto(address);
  await page.getByText('17: cancelled').waitFor();
  quiet(page);
});

test('each has chats and orders of their own, and nobody without a sign-in has any', async () => {
  const page = await signIn('ben');
  const listed = await page.evaluate(async () => (await fetch('/agents/api/conversations')).json());
  assert.deepEqual(listed, []);
  assert.equal((await page.evaluate(async () => (await fetch('/orders')).json()))[17], 'on its way');
  for (const path of ['orders', 'agents/api/conversations']) assert.equal((await fetch(address + path)).status, 401);
  quiet(page);
});
