// What people met on the page and took for broken: each of these failed before it was mended.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, newChat, open, SERVER, say, settled, until } from './browser.mjs';

const ODD = process.env.PRISM_ODD_URL;

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const log = (page) => page.getByRole('log');
const phone = { width: 390, height: 844, hasTouch: true };

test('the numbers of sources are in the run of a briefing, too', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery' });
  const live = await until(() => page.locator('.marker').count(), 'no numbers in the chat');
  const [{ run }] = (await (await fetch(`${SERVER}/api/runs?app=recovery&limit=1`)).json());
  await page.goto(`${SERVER}/#/run/${run}`);
  await until(async () => (await page.locator('.marker').count()) === live, 'the run has other numbers than the chat');
  await log(page).getByText(/Confidence 60\s?%/).waitFor();
  await close(page);
});

test('an answer ends with one receipt, which counts as its trace does', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery' });
  const receipt = page.locator('.message-facts');
  const seen = /^[\d.]+ m?s · 18 model calls · 14 tools · 2\.[67]k tokens · 60% · Open trace$/;
  let words = '';
  await until(async () => seen.test((words = (await receipt.innerText()).split('\n').join(' · '))), 'another receipt').catch(() => assert.match(words, seen));
  await page.getByRole('link', { name: 'Edit and run again', exact: true }).waitFor();
  await receipt.getByRole('link', { name: '18 model calls' }).click();
  await page.locator('section.panel[aria-label="Model"]').waitFor();
  await close(page);
});

test('a search that was approved with OK is not called expired', async () => {
  const page = await open(browser);
  await ask(page, 'What is known about counterfactual explanations?', { app: 'research' });
  await log(page).getByRole('button', { name: /^OK/ }).first().click();
  await log(page).getByText('Approved in chat').waitFor();
  assert.equal(await log(page).getByText('Expired').count(), 0);
  await settled(page);
  const trace = page.getByRole('tree', { name: 'Steps' });
  await trace.getByText('Answered', { exact: true }).first().waitFor();
  assert.equal(await trace.getByText('Waiting', { exact: true }).count(), 0);
  await trace.locator('.tree-row', { hasText: 'Approval of search_sample_library' }).click();
  await page.locator('section.panel[aria-label="Step"]').getByText('Answered with the next message').waitFor();
  await close(page);
});

test('in a parallel of sequences each agent speaks under its own name', async () => {
  const page = await open(browser, '', { url: ODD });
  await ask(page, 'go', { app: 'pipelines' });
  for (const name of ['Left draft', 'Left review', 'Right draft', 'Right review']) {
    const group = log(page).getByRole('group', { name, exact: true });
    const head = group.getByRole('button').first();
    if ((await head.getAttribute('aria-expanded')) !== 'true') await head.click();
    await group.getByText(`This is ${name.toLowerCase().replace(' ', '_')}.`).waitFor();
  }
  await close(page);
});

test('a tool that says how far it is has a bar, also after a reload', async () => {
  const page = await open(browser, '', { url: ODD });
  await ask(page, 'index', { app: 'crowd', wait: false });
  const seen = async () => {
    await log(page).getByText('Reading paper 4').waitFor();
    await log(page).getByText('80%').waitFor();
    assert.equal(await log(page).getByRole('progressbar').getAttribute('value'), '4');
    await log(page).getByRole('group', { name: 'Tool index_papers: Running' }).waitFor();
  };
  await seen();
  await checkAccess(page);
  await page.reload();
  await seen();
  if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/progress.png` });
  await page.getByRole('button', { name: 'Stop' }).click();
  await until(async () => (await log(page).getByRole('progressbar').count()) === 0, 'a stopped tool still has a bar');
  await close(page);
});

test('sub-agents that work and fold do not move the log under its reader', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery', wait: false });
  const least = () => page.evaluate(() => document.querySelector('.log').scrollHeight);
  let highest = 0;
  let drop = 0;
  await until(async () => {
    const now = await least();
    drop = Math.max(drop, highest - now);
    highest = Math.max(highest, now);
    return page.locator('.message-foot').count();
  }, 'no answer');
  assert.ok(drop < 700, `the log collapsed by ${drop} pixels`);
  await close(page);
});

test('the log follows two hundred calls to their end', async () => {
  const page = await open(browser, '', { url: ODD });
  await ask(page, 'many', { app: 'crowd' });
  await log(page).getByText('Looked up 200 numbers.').waitFor();
  await until(() => page.evaluate(() => {
    const list = document.querySelector('.log');
    return list.scrollHeight - list.scrollTop - list.clientHeight < 48;
  }), 'the log does not follow');
  await close(page);
});

test('on a phone Stop is on the screen, and the drawer closes with Escape and with a tap beside it', async () => {
  const page = await open(browser, '', phone);
  await newChat(page, 'recovery');
  await say(page, 'Cedar Creek recovery briefing');
  const stop = await page.getByRole('button', { name: 'Stop' }).first().boundingBox();
  assert.ok(stop.x + stop.width <= 390, `Stop ends at ${stop.x + stop.width}`);
  await settled(page);
  const rail = page.locator('.rail[data-open]');
  await page.getByRole('button', { name: 'Apps and conversations' }).click();
  await rail.waitFor();
  await checkAccess(page);
  await page.keyboard.press('Escape');
  await rail.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Apps and conversations' }).click();
  await rail.waitFor();
  await page.mouse.click(370, 500);
  await rail.waitFor({ state: 'detached' });
  await close(page);
});

test('a link to a conversation that is not there says so', async () => {
  const page = await open(browser, '#/app/tour/nowhere', { allow: [/404/] });
  await page.getByText('This conversation does not exist').waitFor();
  await newChat(page, 'tour');
  await page.reload();
  await page.getByText('New chat with tour').waitFor();
  await close(page);
});

test('an app that does not load says why once', async () => {
  const page = await open(browser, '#/app/broken/x', { url: ODD, allow: [/./] });
  await page.getByRole('alert').first().waitFor();
  await say(page, 'hello');
  await until(async () => (await page.locator('.message').count()) > 0 || true, '');
  await page.waitForTimeout(1500);
  assert.equal(await log(page).locator('.notice[data-kind="error"]').count(), 1);
  await close(page);
});

test('the palette reaches what people look for, by their words', async () => {
  const page = await open(browser);
  await ask(page, 'tool');
  const palette = page.getByRole('dialog');
  await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.includes('/Palette-')));
  const wanted = { settings: 'Use the dark theme', 'time travel': 'Trace', 'model request': 'Model', 'model call 2': 'Model call 2', thoughts: 'Show thinking', fork: 'Fork from here', connect: 'Home', research: 'New chat with Literature research', evaluation: 'Add to evaluation', 'run again': 'Edit and run again' };
  await page.keyboard.press('Control+k');
  await page.keyboard.type('settings'); // at once: not a letter is lost, or taken for a key of the page
  assert.equal(await palette.getByRole('combobox').inputValue(), 'settings');
  for (const [words, title] of Object.entries(wanted)) {
    await palette.getByRole('combobox').fill(words);
    await palette.locator('.palette-title', { hasText: title }).first().waitFor();
  }
  await palette.getByRole('combobox').fill('use dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="dark"]').waitFor();
  await close(page);
});

test('the palette finds a step by a few letters, and keeps the rules of access', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Search commands/ }).waitFor();
  await page.keyboard.type('note_trip');
  await page.getByRole('dialog').getByRole('option', { name: /note_trip/ }).first().waitFor();
  await checkAccess(page);
  await page.keyboard.press('Enter');
  await page.locator('section.panel[aria-label="Step"]').getByRole('heading', { name: 'note_trip' }).waitFor();
  assert.match(await page.title(), /^state · tour · adk-prism$/);
  await close(page);
});

/** What a chat shows of an answer, without what only its owner can do. */
const shownOf = (page) =>
  page.locator('.message[data-role="assistant"]').evaluateAll((all) =>
    all.flatMap((one) => one.innerText.split('\n').map((line) => line.trim())).filter(Boolean),
  );

for (const prompt of ['sources', 'code', 'artifact', 'max tokens', 'safety', 'server side tool', 'structured output']) {
  test(`a run shows what its chat shows: ${prompt}`, async () => {
    const page = await open(browser);
    await ask(page, prompt);
    const live = await shownOf(page);
    const link = await page.locator('.message-facts a', { hasText: 'Open trace' }).getAttribute('href');
    await page.goto(`${SERVER}/${link}`);
    await page.getByText('Read-only run').waitFor();
    let found = [];
    await until(async () => {
      found = await shownOf(page);
      return live.every((line) => found.includes(line));
    }, 'the run shows less').catch(() => assert.deepEqual(found, live));
    await close(page);
  });
}

test('at a moment of the past the chat says of agents what the graph says', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery' });
  const [{ run }] = await (await fetch(`${SERVER}/api/runs?app=recovery&limit=1`)).json();
  const { timeline } = await (await fetch(`${SERVER}/api/runs/${run}/view?panel=timeline`)).json();
  // Of four agents side by side one has ended, and nothing was passed on yet.
  const first = timeline.nodes.filter(({ name }) => /analyst|assessor|assistant|advisor/.test(name)).sort((a, b) => a.until - b.until)[0];
  await page.goto(`${page.url().split('?')[0]}?at=${first.until + 1}`);
  const spoken = `${first.name[0].toUpperCase()}${first.name.slice(1)}`.replace('_', ' ');
  const group = log(page).getByRole('group', { name: spoken, exact: true }).first();
  await log(page).getByText('Working').first().waitFor();
  await until(async () => !(await group.innerText()).includes('Working'), `${spoken} still works in the chat`);
  await close(page);
});

test('events are counted as in the recording that is downloaded', async () => {
  const page = await open(browser);
  await ask(page, 'tool');
  const [{ run }] = await (await fetch(`${SERVER}/api/runs?app=tour&limit=1`)).json();
  const lines = (await (await fetch(`${SERVER}/api/runs/${run}/recording`)).text()).trim().split('\n').length;
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('5');
  await page.getByRole('heading', { name: `Event ${lines} of ${lines}` }).waitFor();
  await close(page);
});
