// The Model panel: what was sent to the model in a run on this server, and what changed from call to call.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkAccess, close, launch, open, SERVER, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

async function json(path, body) {
  const init = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(`${SERVER}${path}`, init);
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return { value: await answer.json(), run: answer.headers.get('x-prism-run') };
}

async function makeSession() {
  const session = `model-${Date.now()}`;
  await json(`/apps/tour/users/user/sessions/${session}`, {});
  return session;
}

/** Let the tour call a tool: two model calls of one agent. */
async function runTool(session) {
  session ??= await makeSession();
  const { run } = await json('/run', { appName: 'tour', userId: 'user', sessionId: session, newMessage: { role: 'user', parts: [{ text: 'tool' }] } });
  const { value: calls } = await json(`/api/runs/${run}/model-calls`);
  assert.ok(calls.length >= 2, 'the run has two model calls');
  return { run, calls };
}

test('instruction, messages, tools and response of each call, and what changed', async () => {
  const { run, calls } = await runTool();
  const page = await open(browser, `#/run/${run}?panel=model`);
  const panel = page.locator('section.panel[aria-label="Model"]');
  await panel.getByText(`call ${calls.length} of ${calls.length}`).waitFor();
  await panel.getByText('Instruction', { exact: true }).waitFor();
  await panel.getByText("Since the agent's last call").waitFor();
  await panel.getByText(/messages? unchanged, [1-9]\d* added/).waitFor();
  const filled = await panel.locator('.context li').allInnerTexts();
  for (const kind of ['Instruction', 'Tools', 'User', 'Tool calls', 'Tool results']) assert.ok(filled.some((each) => each.startsWith(kind)), `${kind} in ${filled}`);
  assert.ok(filled.some((each) => /about [\d.,k]+ tokens/.test(each)), String(filled));
  if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/context.png` });
  await checkAccess(page);
  await panel.getByRole('button', { name: 'Previous model call' }).click();
  await panel.getByText(`call ${calls.length - 1} of ${calls.length}`).waitFor();
  await panel.getByText(/^Messages \(/).waitFor();
  await page.waitForFunction(() => location.hash.includes('step=c'));
  assert.ok(!page.url().includes('at='), 'choosing a call has travelled');
  await panel.getByRole('combobox', { name: 'Model call of this answer' }).selectOption({ index: calls.length - 1 });
  await panel.getByText(`call ${calls.length} of ${calls.length}`).waitFor();
  await panel.getByRole('button', { name: 'Previous model call' }).click();
  await panel.getByRole('button', { name: 'Travel here' }).click();
  await until(async () => (await page.url()).includes(`at=${calls.at(-2).cursor}`), 'the playhead is at the call');
  await panel.getByText(`call ${calls.length - 1} of ${calls.length}`).waitFor();
  await close(page);
});

test('the first call of a run is compared with the last one of the run before', async () => {
  const session = await makeSession();
  await runTool(session);
  const { run, calls } = await runTool(session);
  const page = await open(browser, `#/run/${run}?panel=model&at=${calls[0].cursor}`);
  const panel = page.locator('section.panel[aria-label="Model"]');
  await panel.getByText(`call 1 of ${calls.length}`).waitFor();
  await panel.getByText(/[1-9]\d* messages unchanged, [1-9]\d* added/).waitFor();
  await panel.getByRole('link', { name: 'an earlier run' }).waitFor();
  await close(page);
});

test('at any width of the panel nothing lies past its edge', async () => {
  const { run, calls } = await runTool();
  const page = await open(browser, `#/run/${run}?panel=model`);
  const panel = page.locator('section.panel[aria-label="Model"]');
  await panel.getByText(`call ${calls.length} of ${calls.length}`).waitFor();
  const beyond = (name) =>
    page.evaluate((label) => {
      const box = document.querySelector(`section.panel[aria-label="${label}"]`);
      const edge = box.closest('.slot').getBoundingClientRect().right;
      const close = box.closest('.slot').querySelector('.slot-close').getBoundingClientRect();
      const isOver = (at) => at.right > close.left && at.left < close.right && at.top < close.bottom && at.bottom > close.top;
      return [...box.querySelectorAll('.panel-header *, .step-head *, [role=tab]')]
        .filter((each) => each.closest('.slot') && !each.closest('svg') && (each.getBoundingClientRect().right > edge || isOver(each.getBoundingClientRect())))
        .map((each) => each.outerHTML.slice(0, 120));
    }, name);
  for (const name of ['Model', 'Step']) {
    if (name === 'Step') {
      await page.getByRole('tree', { name: 'Steps' }).getByRole('treeitem', { name: /Agent/ }).first().click();
      await page.getByRole('tab', { name: 'Raw' }).waitFor();
    }
    for (const width of [280, 340, 420, 500]) {
      await page.evaluate((to) => document.querySelector('.slot[data-place=side]').style.setProperty('--width', `${to}px`), width);
      assert.deepEqual(await beyond(name), [], `${name} at ${width} px`);
    }
  }
  await close(page);
});

test('a recording without model calls says so', async () => {
  const { run } = await runTool();
  const body = await (await fetch(`${SERVER}/api/runs/${run}/recording`)).arrayBuffer();
  const uploaded = await fetch(`${SERVER}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const page = await open(browser, `#/run/${(await uploaded.json()).run}?panel=model`);
  await page.getByText('This recording does not contain what was sent to models.').waitFor();
  await close(page);
});

test('where ADK has compacted the history: the summary, and what the model no longer sees', async () => {
  const odd = process.env.PRISM_ODD_URL;
  const session = `compacted-${Date.now()}`;
  const post = (path, body) => fetch(`${odd}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  await post(`/apps/forgetful/users/user/sessions/${session}`, {});
  let run;
  for (const text of ['I like moss', 'And ferns']) {
    const answer = await post('/run', { appName: 'forgetful', userId: 'user', sessionId: session, newMessage: { role: 'user', parts: [{ text }] } });
    run = answer.headers.get('x-prism-run');
  }
  const page = await open(browser, `#/run/${run}?panel=model`, { url: odd });
  const panel = page.locator('section.panel[aria-label="Model"]');
  await panel.getByRole('combobox', { name: 'Model call of this answer' }).selectOption({ index: 0 });
  await panel.getByText(/ADK has put a summary in the place of what was said from/).waitFor();
  await panel.getByText('The person likes moss.').first().waitFor();
  await panel.getByText('What the model no longer sees: 1 message').click();
  await panel.locator('details details .change', { hasText: 'I like moss' }).waitFor();
  await checkAccess(page);
  if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/compacted.png` });
  await close(page);
});
