// What happens when something goes wrong elsewhere: nothing that was said or typed is lost, and the page says what is.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { SERVER, afterTest, ask, chat, close, launch, loadCode, newChat, open, openPanel, say, settled, until } from './browser.mjs';
import { proxy } from './proxy.mjs';

const NETWORK = [/Failed to load resource/, /ERR_/];

let browser;
let between;
let page;
before(async () => {
  browser = await launch();
  between = await proxy(SERVER);
  page = await open(browser, '', { url: between.url, allow: NETWORK, width: 1280 });
  await loadCode(page);
});
afterEach((t) => afterTest(t, page));
after(async () => {
  await browser.close();
  between.close();
});

const answer = () => page.locator('.message[data-role="assistant"]').last().locator('.part').allInnerTexts();

test('a reload in mid-answer goes on where it was', async () => {
  await ask(page, 'slow 5', { wait: false });
  await chat(page).getByText('I keep silent').waitFor();
  await page.reload();
  await chat(page).getByText('The silence is over.').waitFor();
  await settled(page);
  assert.equal(await page.locator('.message').count(), 2);
  assert.equal(await page.locator('.log .tool').count(), 1);
});

test('a cut connection leaves no seam', async () => {
  await ask(page, 'slow 5', { wait: false });
  await chat(page).getByText('I keep silent').waitFor();
  between.cut();
  await chat(page).getByText('The silence is over.').waitFor();
  await settled(page);
  const seen = await answer();
  await page.reload();
  await settled(page);
  assert.deepEqual(seen, await answer());
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('a run that ended while the page was away is shown whole', async () => {
  await ask(page, 'slow 5', { wait: false });
  await chat(page).getByText('I keep silent').waitFor();
  between.leave();
  await page.getByText('Connection lost.').waitFor();
  const [, session] = /#\/app\/tour\/([^?]+)/.exec(page.url());
  const query = new URLSearchParams({ app: 'tour', user: 'user', session });
  await until(async () => (await (await fetch(`${SERVER}/api/runs?${query}`)).json()).every((run) => run.outcome === 'finished'), 'the run does not end');
  between.comeBack();
  await chat(page).getByText('The silence is over.').waitFor();
  await settled(page);
  assert.equal(await page.getByText('Connection lost.').count(), 0);
});

test('a message that did not arrive is kept and can be sent again', async () => {
  await newChat(page, 'tour');
  between.leave();
  await say(page, 'tool, please');
  await page.getByText('Connection lost.').waitFor();
  between.comeBack();
  await page.getByRole('button', { name: 'Try again' }).click();
  await settled(page);
  await page.locator('.log .tool').waitFor();
  assert.equal(await page.locator('.message[data-role="user"]').count(), 1);
});

test('what was typed outlives a reload', async () => {
  await ask(page, 'text');
  await page.getByRole('textbox', { name: 'Message' }).fill('half a thought');
  await page.reload();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a thought');
});

test('a session that was deleted elsewhere says so, and keeps the words', async () => {
  await ask(page, 'text');
  const [, app, session] = /#\/app\/([^/]+)\/([^?]+)/.exec(page.url());
  const deleted = await fetch(`${SERVER}/apps/${app}/users/user/sessions/${session}`, { method: 'DELETE' });
  assert.ok(deleted.ok);
  await say(page, 'are you there?');
  await page.getByText('Its messages are only left on this page.').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).inputValue(), 'are you there?');
  await page.getByRole('button', { name: 'Start a new chat' }).click();
  await settled(page);
});

test('an unknown app or run is named', async () => {
  await page.goto(`${between.url}/#/app/nothing/s-1`);
  await page.getByRole('alert').getByText('There is no app').waitFor();
  await page.goto(`${between.url}/#/run/nothing`);
  await page.getByRole('alert').getByText('Could not open this run').waitFor();
});

test('files that are no recording are refused by name, each with its reason', async () => {
  await page.goto(`${between.url}/#/`);
  await page.locator('.drop').waitFor();
  const files = { 'empty.jsonl': '', 'object.json': '{}', 'list.json': '[]', 'number.json': '7', 'half.jsonl': '{"cursor":1,', 'binary.bin': '\0\x01\x02\x03', 'page.html': '<html></html>', 'events.json': '{"events":[]}', 'deep.json': '['.repeat(5000) };
  for (const [name, text] of Object.entries(files)) {
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    const said = page.getByText(`Could not open ${name}:`);
    await said.waitFor();
    assert.ok((await said.innerText()).length > `Could not open ${name}: `.length + 10, 'a reason');
  }
});

test('a server that is away is said to be, wherever one is; what was written stays', async () => {
  await ask(page, 'state');
  await openPanel(page, 'State');
  await page.getByRole('button', { name: 'Fork from here' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Message/).fill('another way');
  between.leave();
  await dialog.getByRole('button', { name: 'Fork & run' }).click();
  await dialog.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  assert.equal(await dialog.getByLabel(/^Message/).inputValue(), 'another way');
  await page.keyboard.press('Escape');
  await page.evaluate(() => (location.hash = '#/'));
  await page.locator('input[type=file]').setInputFiles({ name: 'late.jsonl', mimeType: 'application/json', buffer: Buffer.from('{}') });
  await page.getByText('Could not open late.jsonl: The server cannot be reached.').waitFor();
  between.comeBack();
});

test('code that was never loaded is, once the server is back', async () => {
  const fresh = await open(browser, '', { url: between.url, allow: [...NETWORK, /dynamically imported module|preload CSS/], width: 1280 });
  await fresh.locator('.card').first().waitFor();
  between.leave();
  await fresh.evaluate(() => (location.hash = '#/run/run-unread'));
  await fresh.getByText('This page could not be shown: The server cannot be reached.').waitFor();
  between.comeBack();
  await fresh.getByRole('button', { name: 'Try again' }).click();
  await fresh.getByRole('alert').getByText('There is no run').waitFor();
  between.leave();
  await fresh.evaluate(() => (location.hash = '#/run/run-other'));
  await fresh.getByText('Could not open this run: The server cannot be reached.').waitFor();
  between.comeBack();
  await fresh.getByRole('alert').getByText('There is no run').waitFor();
  await close(fresh);
});
