// A server that has to know who calls: the page asks, keeps the answer, and loses nothing over it.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, checkAccess, close, launch, open, say, settled, until } from './browser.mjs';

const ASKING = process.env.PRISM_ASKING_URL;
const TOKENS = process.env.PRISM_TOKENS;
// A browser writes down every 401, also those that are asked about.
const REFUSED = { url: ASKING, allow: [/status of 401/] };

let browser;
let page;
before(async () => {
  browser = await launch();
  page = await open(browser, '', { ...REFUSED, width: 1280 });
  page.on('dialog', (dialog) => page.troubles.push(`a prompt of the browser: ${dialog.message()}`));
});
afterEach((t) => afterTest(t, page));
after(() => browser.close());

const dialog = (on = page) => on.getByRole('dialog', { name: /^Sign in/ });
const account = (name, on = page) => on.getByRole('button', { name: `Signed in as ${name}` });

async function signIn(on, token) {
  await dialog(on).getByLabel('Token').fill(token);
  await dialog(on).getByRole('button', { name: 'Sign in' }).click();
}

/** Whether the server lets a token in; it reads its file again within a second. */
const isKnown = async (token) => (await fetch(`${ASKING}/api/me`, { headers: { authorization: `Bearer ${token}` } })).ok;

/** What a browser has kept of a token. */
const kept = (on = page) => on.evaluate(() => [sessionStorage, localStorage].map((store) => Object.keys(store).filter((key) => key.startsWith('prism:token')).length));

test('whoever opens the page is asked; a wrong token is said to be one', async () => {
  await dialog().waitFor();
  await checkAccess(page);
  await signIn(page, 'token-of-nobody');
  await dialog().getByRole('alert').getByText('The server does not accept this token.').waitFor();
  await signIn(page, 'two words');
  await dialog().getByRole('alert').getByText('A token has no spaces').waitFor();
  assert.deepEqual(await kept(), [0, 0]);
});

test('not now leaves a page that says why it is empty, and a way in', async () => {
  await dialog().getByRole('button', { name: 'Not now' }).click();
  await dialog().waitFor({ state: 'detached' });
  await page.getByText('You are not signed in.').first().waitFor();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await dialog().waitFor();
});

test('a token lets its user in, for as long as the tab is open', async () => {
  await signIn(page, ' token-of-ann ');
  await account('ann').waitFor();
  await page.locator('.card').first().waitFor();
  assert.deepEqual(await kept(), [1, 0]);
  await checkAccess(page);
  await page.reload();
  await account('ann').waitFor();
  assert.equal(await dialog().count(), 0);
});

test('what a browser fetches by itself is there, too: pictures, sounds, downloads', async () => {
  await ask(page, 'image');
  const image = page.locator('.log .file img');
  await image.waitFor();
  await page.waitForFunction((shown) => shown.complete && shown.naturalWidth > 0, await image.elementHandle());
  await page.reload();
  await page.locator('.log .file img').waitFor();
  for (const [word, end] of [['Recording (JSON lines)', '.jsonl'], ['Share as one HTML file', '.html']]) {
    await page.getByRole('button', { name: 'Share' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: word }).click()]);
    assert.ok(download.suggestedFilename().endsWith(end));
    assert.match((await readFile(await download.path(), 'utf-8')).slice(0, 200), /run|doctype/);
  }
  await ask(page, 'artifact');
  const [saved] = await Promise.all([page.waitForEvent('download'), page.locator('[data-part="data-artifact"] button').click()]);
  assert.ok(saved.suggestedFilename());
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /Bearer \$ADK_PRISM_TOKEN/);
});

test('a token that ends in mid-conversation is asked for again, and nothing typed is lost', async () => {
  await ask(page, 'text');
  const known = await readFile(TOKENS, 'utf-8');
  await writeFile(TOKENS, JSON.stringify({ 'new-token-of-ann': 'ann' }));
  try {
    await until(async () => !(await isKnown('token-of-ann')), 'the file is not read again');
    await say(page, 'half a thought');
    await dialog().getByText('Your sign-in as ann has expired').waitFor();
    await checkAccess(page);
    await signIn(page, 'new-token-of-ann');
    await dialog().waitFor({ state: 'detached' });
    await page.locator('.message[data-role="user"]', { hasText: 'half a thought' }).waitFor();
    await settled(page);
    assert.equal(await page.locator('.message').count(), 4);
  } finally {
    await writeFile(TOKENS, JSON.stringify({ ...JSON.parse(known), 'new-token-of-ann': 'ann' }));
    await until(() => isKnown('token-of-bob'), 'the file is not read again');
  }
});

test('another user who follows a link is told that there is nothing', async () => {
  const chat = new URL(page.url()).hash;
  const run = new URL(await page.getByRole('link', { name: 'Open trace', exact: true }).last().getAttribute('href'), page.url()).hash;
  const other = await open(browser, chat, { url: ASKING, allow: [/status of 40[14]/], width: 1280 });
  await signIn(other, 'token-of-bob');
  await other.getByRole('alert').getByText('Could not open this chat').waitFor();
  await other.goto(`${ASKING}/${run}`);
  await other.getByRole('alert').getByText('There is no run').waitFor();
  assert.equal(await other.getByText('half a thought').count(), 0);
  await close(other);
});

test('signing out forgets the token, and what was typed', async () => {
  await page.getByRole('textbox', { name: 'Message' }).fill('a secret thought');
  await account('ann').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await dialog().waitFor();
  assert.deepEqual(await kept(), [0, 0]);
  assert.equal(await page.evaluate(() => Object.values(localStorage).join().includes('secret')), false);
  assert.equal(await page.locator('.message').count(), 0);
});

test('staying signed in on a device is a choice', async () => {
  await dialog().getByRole('checkbox', { name: 'Stay signed in on this device' }).check();
  await signIn(page, 'token-of-bob');
  await account('bob').waitFor();
  assert.deepEqual(await kept(), [0, 1]);
  const tab = await page.context().newPage();
  await tab.goto(ASKING);
  await account('bob', tab).waitFor();
  await tab.close();
});

test('behind a proxy that has asked, nobody is asked again', async () => {
  const behind = await open(browser, '', { url: ASKING, width: 1280, extraHTTPHeaders: { 'x-user': 'ann' } });
  await behind.getByTitle('Signed in as ann').waitFor();
  await behind.locator('.card').first().waitFor();
  await ask(behind, 'image');
  await behind.locator('.log .file img').waitFor();
  await close(behind);
});

test('where nobody is asked, nothing of it is shown', async () => {
  const plain = await open(browser, '', { width: 1280 });
  await plain.locator('.card').first().waitFor();
  await ask(plain, 'text');
  assert.equal(await plain.getByText(/sign in/i).count(), 0);
  assert.equal(await plain.locator('.account').count(), 0);
  assert.ok(!plain.url().includes('user='));
  await close(plain);
});

for (const dark of [false, true]) {
  test(`the question on a narrow screen, ${dark ? 'dark' : 'light'}`, async () => {
    const narrow = await open(browser, '', { ...REFUSED, dark, width: 390, height: 844 });
    await dialog(narrow).waitFor();
    await checkAccess(narrow);
    assert.ok((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    if (process.env.PRISM_PICTURES) await narrow.screenshot({ path: `${process.env.PRISM_PICTURES}/sign-in-${dark ? 'dark' : 'light'}.png` });
    await signIn(narrow, 'token-of-ann');
    await account('ann', narrow).waitFor();
    await checkAccess(narrow);
    assert.ok((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    if (process.env.PRISM_PICTURES) await narrow.screenshot({ path: `${process.env.PRISM_PICTURES}/signed-in-${dark ? 'dark' : 'light'}.png` });
    await close(narrow);
  });
}
