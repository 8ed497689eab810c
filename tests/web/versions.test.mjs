// Versions of answers against the real server: looked at, gone on from, in two tabs; what conversations and files are called.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, checkAccess, close, launch, open, say, settled } from './browser.mjs';

let browser;
let page;
before(async () => {
  browser = await launch();
  page = await open(browser, '', { width: 1280 });
});
afterEach((t) => afterTest(t, page));
after(() => browser.close());

const answers = (on = page) => on.locator('.message[data-role="assistant"]');
const idOf = (answer) => answer.getAttribute('data-message');
const version = (text, on = page) => on.locator('.versions', { hasText: text });
const EARLIER = 'This is an earlier version.';

async function regenerate(on = page) {
  const old = await idOf(answers(on).last());
  await answers(on).last().getByRole('button', { name: 'Regenerate' }).click();
  await on.locator(`[data-message="${old}"]`).waitFor({ state: 'detached' });
  await settled(on);
}

test('an answer is regenerated, the first one is looked at and gone on from', async () => {
  await ask(page, 'text');
  assert.equal(await page.locator('.versions').count(), 0);
  const first = await idOf(answers().first());
  await say(page, 'tool');
  await answers().nth(1).locator('.message-foot').waitFor();
  await answers().first().getByRole('button', { name: 'Regenerate' }).click();
  await version('2/2').waitFor();
  assert.equal(await answers().count(), 1);
  await version('2/2').getByRole('button', { name: 'Previous version' }).press('Enter');
  await version('1/2').waitFor();
  await page.locator('.versions button[aria-label="Next version"]:focus').waitFor();
  assert.equal(await idOf(answers().first()), first);
  assert.equal(await answers().count(), 2);
  await page.getByText(EARLIER).waitFor();
  await checkAccess(page);
  await say(page, 'state');
  await answers().nth(2).locator('.message-foot').waitFor();
  await page.getByText(EARLIER).waitFor({ state: 'detached' });
  await page.reload();
  await version('1/2').waitFor();
  assert.equal(await idOf(answers().first()), first);
  assert.equal(await answers().count(), 3);
});

test('an edited message is a version, too; the current one is one click away', async () => {
  await ask(page, 'text');
  await page.locator('.message[data-role="user"]').hover();
  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('tool');
  await page.getByRole('button', { name: 'Resend' }).click();
  await version('2/2').waitFor();
  await page.getByRole('button', { name: 'Previous version' }).click();
  await page.locator('.message[data-role="user"] .bubble', { hasText: 'text' }).waitFor();
  await page.getByRole('button', { name: 'Show the current version' }).click();
  await page.locator('.message[data-role="user"] .bubble', { hasText: 'tool' }).waitFor();
  await version('2/2').waitFor();
});

test('what an earlier version asked is not asked any more', async () => {
  await ask(page, 'approval');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await regenerate();
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  await page.getByRole('button', { name: 'Previous version' }).click();
  await page.getByText(EARLIER).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
  await say(page, 'text');
  await answers().nth(1).locator('.message-foot').waitFor();
});

test('a tab that was left open is told so, and reloads; nothing is lost', async () => {
  await ask(page, 'text');
  const other = await open(browser, `#${page.url().split('#')[1]}`, { width: 1280 });
  await settled(other);
  await regenerate();
  const second = await idOf(answers().first());
  await say(other, 'tool');
  await other.getByText('This conversation has continued elsewhere').waitFor();
  await checkAccess(other);
  await other.getByRole('button', { name: 'Reload the conversation' }).click();
  await other.locator(`[data-message="${second}"]`).waitFor();
  await other.getByText('Your message was not sent yet.').waitFor();
  await other.getByRole('button', { name: 'Try again' }).click();
  await answers(other).nth(1).locator('.message-foot').waitFor();
  await page.reload();
  await answers().nth(1).waitFor();
  assert.equal(await idOf(answers().first()), second);
  await version('2/2').waitFor();
  assert.ok(other.troubles.splice(0).every((trouble) => trouble.includes('409')));
  await close(other);
});

test('a run alone takes a thumb, and is called as its file was; its files are called as it is', async () => {
  const event = { id: 'e1', invocationId: 'i1', author: 'stranger', timestamp: 1.5, content: { role: 'model', parts: [{ text: 'Said elsewhere.' }] } };
  await page.goto(`${page.url().split('#')[0]}#/`);
  const name = `Büro ${crypto.randomUUID()}.jsonl`;
  await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/jsonl', buffer: Buffer.from(`${JSON.stringify(event)}\n`) });
  await page.getByRole('log').getByText('Said elsewhere.').waitFor();
  await page.locator('.heading-title', { hasText: name }).waitFor();
  await page.getByRole('navigation', { name: 'Apps and conversations' }).getByRole('link', { name }).waitFor();
  const thumb = (pressed) => page.locator(`button[aria-label="Bad answer"][aria-pressed="${pressed}"]`);
  await thumb(false).press('Enter');
  await thumb(true).waitFor();
  await page.reload();
  await thumb(true).waitFor();
  for (const [word, ending] of [['Share as one HTML file', 'html'], ['Recording (JSON lines)', 'jsonl']]) {
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByRole('link', { name: word }).click();
    assert.equal((await saving).suggestedFilename(), `${name}.${ending}`);
  }
});
