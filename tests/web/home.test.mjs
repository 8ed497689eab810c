// Home and the shell: apps that start with Enter, recordings, keys, themes, narrow screens.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SERVER, ask, chat, checkAccess, close, launch, open, say, settled, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test('Enter on the first card runs it', async () => {
  const page = await open(browser, '', { width: 1280 });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.getByText('Coordinates recovery after a wildfire').waitFor();
  await page.locator('.card textarea:focus').waitFor();
  await page.keyboard.press('Enter');
  await settled(page);
  // Which model it is, is known once the app was loaded.
  await page.getByText('Demo model (offline)').first().waitFor();
  assert.match(page.url(), /#\/app\/[a-z]+\//);
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
  await close(page);
});

test('the server says what it stores where, and which versions it has', async () => {
  const page = await open(browser, '', { width: 1280 });
  await page.getByRole('heading', { name: 'Wildfire recovery' }).waitFor();
  await page.getByText('Models, storage, versions and capabilities').click();
  await page.getByText(/google-adk \d/).waitFor();
  await page.getByText(/work with the installed versions/).waitFor();
  await page.getByText(/Runs are kept for/).waitFor();
  await checkAccess(page);
  await close(page);
});

test('a recording is uploaded and opened as a run; what is none is refused with its reason', async () => {
  const page = await open(browser, '', { allow: [/status of 4\d\d/], width: 1280 });
  await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('not a recording') });
  await page.getByText('Could not open notes.txt:').waitFor();
  const event = { id: 'e1', invocationId: 'i1', author: 'stranger', timestamp: 1.5, content: { role: 'model', parts: [{ text: 'Said **elsewhere**.' }] } };
  await page.locator('input[type=file]').setInputFiles({ name: 'capture.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(`${JSON.stringify(event)}\n`) });
  await chat(page).getByText('Said elsewhere.').waitFor();
  assert.match(page.url(), /#\/run\//);
  await page.getByText('Read-only recording').waitFor();
  await close(page);
});

test('a recording of a newer version is refused with its reason, and one that comes with the page is opened', async () => {
  const page = await open(browser, '', { allow: [/status of 4\d\d/], width: 1280 });
  const newer = { cursor: 1, time: 1, type: 'RunFolded', run: 'r' };
  await page.locator('input[type=file]').setInputFiles({ name: 'newer.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(`${JSON.stringify(newer)}\n`) });
  await page.getByText('Could not open newer.jsonl:').waitFor();
  await page.getByRole('list', { name: 'Example recordings' }).getByRole('button', { name: 'Three specialists in parallel' }).click();
  await page.getByRole('log').getByText('Food specialist').first().waitFor();
  await page.getByText('Read-only recording').waitFor();
  await close(page);
});

test('a run that a recorder sends appears by itself, and grows while it is open', async () => {
  const page = await open(browser, '', { width: 1280 });
  const title = `Recorded ${crypto.randomUUID()}`;
  const secret = crypto.randomUUID().repeat(2);
  const send = async (...entries) => {
    const body = entries.map((entry) => `${JSON.stringify({ time: 1, ...entry })}\n`).join('');
    const headers = { 'content-type': 'application/x-ndjson', 'x-prism-recorder': secret };
    const answer = await fetch(`${SERVER}/api/record`, { method: 'POST', headers, body });
    assert.equal(answer.status, 200, await answer.text());
  };
  const says = (cursor, text) => ({ cursor, type: 'AgentEvent', event: { id: `e${cursor}`, author: 'far', content: { role: 'model', parts: [{ text }] } } });
  const message = { role: 'user', parts: [{ text: title }] };
  await send({ cursor: 1, type: 'RunStarted', run: 'r', origin: { app: 'far', user: 'user', session: 's' }, message }, says(2, 'First words.'));
  await page.locator('.home').getByText(title).click();
  await page.getByText('First words.').first().waitFor();
  await send(says(3, 'Later words.'));
  await page.getByText('Later words.').first().waitFor();
  await send({ cursor: 4, type: 'RunEnded', outcome: 'finished' });
  await page.getByText('Read-only recording').waitFor();
  await close(page);
});

test('a conversation is named, pinned, found, deleted and restored in the rail', async () => {
  // A chat that was deleted while it is open is gone.
  const page = await open(browser, '', { allow: [/status of 4\d\d/], width: 1280 });
  const rail = page.getByRole('navigation', { name: 'Apps and conversations' });
  const entry = (name) => rail.getByRole('listitem').filter({ hasText: name });
  const act = async (name, action) => {
    await entry(name).hover();
    await entry(name).getByRole('button', { name: action }).click();
  };
  const [said, name] = [`Hello ${crypto.randomUUID()}`, `Named ${crypto.randomUUID()}`];
  await ask(page, said);
  await act(said, 'Rename');
  await page.getByRole('textbox', { name: 'Name of the conversation' }).fill(name);
  await page.keyboard.press('Enter');
  await entry(name).waitFor();
  await act(name, 'Pin');
  await rail.getByRole('region', { name: 'Pinned' }).getByRole('link', { name }).waitFor();
  await page.reload();
  await rail.getByRole('region', { name: 'Pinned' }).getByRole('link', { name }).waitFor();
  await page.locator('.message-foot').waitFor();
  await checkAccess(page);
  await act(name, 'Delete');
  await page.getByText(`Deleted “${name}”.`).waitFor();
  await entry(name).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await entry(name).getByRole('link').click();
  await page.locator('.message[data-role="user"]', { hasText: said }).waitFor();
  await close(page);
});

test('a thousand conversations are searched, and drawn as far as they are looked at', async () => {
  const page = await open(browser, '#/none', { width: 1280 });
  const entries = Array.from({ length: 1000 }, (_, number) => ({
    ...{ app: 'tour', user: 'user', session: `s${number}`, title: `Talk ${number}`, said: `first words ${number}`, pinned: number < 2 },
    ...{ started: 1e9, active: 1e9 - number, runs: 1, run: `r${number}`, outcome: 'finished', uploaded: false, recorded: true },
  }));
  await page.route('**/api/conversations?*', (route) => route.fulfill({ json: entries.slice(0, Number(new URL(route.request().url()).searchParams.get('limit'))) }));
  await page.goto(`${SERVER}/`);
  const items = page.locator('.rail-list li');
  await page.getByRole('link', { name: 'Talk 29', exact: false }).first().waitFor();
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('WORDS 777');
  await page.locator('.rail-list').getByText('Talk 777').waitFor();
  assert.equal(await items.count(), 1);
  await page.getByRole('searchbox', { name: 'Search conversations' }).fill('');
  await page.locator('.rail-list').getByText('Talk 1', { exact: true }).waitFor();
  const before = await items.count();
  assert.ok(before < 500, `${before} entries are drawn`);
  // To the end, without a pause: what the browser has seen of the end then comes in batches.
  const scroll = () => page.evaluate(() => document.querySelector('.rail-end').scrollIntoView());
  await until(async () => (await scroll(), (await items.count()) === entries.length), 'the list does not go on');
  await close(page);
});

test('the map of keys, and keys that go places', async () => {
  const page = await open(browser, '', { width: 1280 });
  await ask(page, 'text');
  await page.locator('.log').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('regenerate the answer').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.locator('#composer:focus').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('h');
  await page.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
  await close(page);
});

for (const dark of [false, true]) {
  for (const width of [1440, 390]) {
    test(`nothing that axe objects to: ${dark ? 'dark' : 'light'}, ${width} px`, async () => {
      const page = await open(browser, '', { dark, width });
      await page.locator('.card').first().waitFor();
      await checkAccess(page);
      const scrolls = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(await scrolls(), false);
      await ask(page, 'sources');
      await checkAccess(page);
      assert.equal(await scrolls(), false);
      await close(page);
    });
  }
}

test('home says how to connect, with this server\'s address', async () => {
  const page = await open(browser);
  // There are only the examples: how one's own agents come here stands above them, and is not folded.
  const section = page.getByRole('region', { name: 'Connect your agent' });
  await section.getByText('adk-prism serve path/to/agents').waitFor();
  const [connect, apps] = await Promise.all([section.boundingBox(), page.getByRole('region', { name: 'Apps', exact: true }).boundingBox()]);
  assert.ok(connect.y < apps.y && connect.y + connect.height < 400, 'it is not in sight');
  await page.getByText('Addresses and code').click();
  const code = page.getByLabel('Code, useChat');
  await page.getByLabel('App', { exact: true }).selectOption('tour');
  await until(async () => (await code.innerText()).includes(`'${SERVER}/api/chat/tour'`), 'the address is not there');
  await page.getByText('google-adk').waitFor();
  await checkAccess(page);
  await close(page);
});

test('the theme is chosen and kept', async () => {
  const page = await open(browser);
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
  await close(page);
});

test('the reader who scrolls up is left alone and told what is new', async () => {
  const page = await open(browser, '', { width: 1280, height: 400 });
  await ask(page, 'long 600');
  await page.locator('.log').evaluate((log) => (log.scrollTop = 0));
  await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('tool');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^\d+ new$/ }).click();
  await settled(page);
  const left = await page.locator('.log').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
  assert.ok(left < 50, `the end is ${left} px away`);
  await close(page);
});

test('an answer that is longer than the screen is shown from its beginning when it is complete', async () => {
  const page = await open(browser, '', { width: 1280, height: 500 });
  const log = page.locator('.log');
  const top = () => log.evaluate((list) => [...list.querySelectorAll('[data-answer]')].at(-1).getBoundingClientRect().top - list.getBoundingClientRect().top);
  const begins = () => until(async () => Math.abs((await top()) - 12) < 3, 'the answer is not shown from its beginning');
  await ask(page, 'long 600');
  await begins();
  await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
  await page.reload();
  await log.locator('[data-answer]').waitFor();
  await begins();
  await say(page, 'tool'); // A short answer: the end.
  await settled(page);
  await until(() => log.evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 50), 'the end is not shown');
  await close(page);
});

test('the address is the whole state', async () => {
  const page = await open(browser, '', { width: 1280 });
  await ask(page, 'state');
  const run = await page.getByRole('link', { name: 'Open trace' }).getAttribute('href');
  await page.goto(`${SERVER}/${run}?at=4&panel=event`);
  await page.getByText(/^Step \d+ of \d+ · /).waitFor();
  await page.locator('.tab[aria-pressed="true"]', { hasText: 'Event' }).waitFor();
  await page.keyboard.press('e');
  await page.waitForURL((url) => !url.hash.includes('at='));
  await close(page);
});

for (const width of [1440, 390]) {
  test(`what waits for somebody comes first, and stands on the screen: ${width} px`, async () => {
    const page = await open(browser, '', { width });
    await ask(page, 'approval');
    await page.goto(`${SERVER}/#/`);
    const list = page.getByRole('region', { name: /^Waiting for you/ });
    await list.getByRole('link', { name: /approval/ }).first().waitFor();
    for (const row of await list.getByRole('listitem').all()) {
      const { x, width: wide } = await row.boundingBox();
      assert.ok(x >= 0 && x + wide <= width, `a row ends at ${x + wide}`);
    }
    await checkAccess(page);
    await list.getByRole('link', { name: /approval/ }).first().click();
    await page.getByRole('log').getByRole('button', { name: 'Approve' }).click();
    await settled(page);
    await close(page);
  });
}
