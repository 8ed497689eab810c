// The chat comes first: panels stand beside it when they are asked for, or when the run has something to show in them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, newChat, open, openPanel, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const panels = (page) => page.locator('.slot');
const widthOf = async (page, selector) => (await page.locator(selector).boundingBox()).width;
/** The least height and width of what a finger presses, in CSS pixels. */
const TARGET = 44;

test('a new chat is the chat alone, at a width for reading; an answer has its trace beside it, until that is closed', async () => {
  const page = await open(browser);
  await newChat(page, 'tour');
  assert.equal(await panels(page).count(), 0);
  assert.ok((await widthOf(page, '.log')) > 1000, 'the chat has the room');
  assert.ok((await widthOf(page, '.log-inner')) < 800, 'its lines are short');
  await checkAccess(page);
  await ask(page, 'text');
  await page.getByRole('region', { name: 'Trace', exact: true }).waitFor();
  assert.equal(await panels(page).count(), 1);
  await page.getByRole('button', { name: 'Close Trace' }).click();
  await panels(page).waitFor({ state: 'detached' });
  await ask(page, 'text');
  assert.equal(await panels(page).count(), 0);
  await close(page);
});

test('a panel is made wider, narrower and closed, by mouse and by key, and is as wide the next time', async () => {
  const page = await open(browser);
  await ask(page, 'state');
  await page.getByRole('button', { name: 'Close Trace' }).click();
  await openPanel(page, 'State');
  const usual = await widthOf(page, '.slot');
  const edge = page.getByRole('separator', { name: 'Width of State' });
  const { x, y, height } = await edge.boundingBox();
  await page.mouse.move(x + 4, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x - 96, y + height / 2, { steps: 3 });
  await page.mouse.up();
  await until(async () => Math.abs((await widthOf(page, '.slot')) - usual - 100) < 4, 'it is not dragged');
  await edge.focus();
  await page.keyboard.press('ArrowRight');
  const wanted = await until(async () => { const now = await widthOf(page, '.slot'); return now < usual + 90 && now; }, 'no key makes it narrower');
  await page.waitForFunction(() => location.hash.includes('panel=state'));
  await page.reload();
  await until(async () => (await panels(page).count()) === 1 && Math.abs((await widthOf(page, '.slot')) - wanted) < 2, 'its width is forgotten');
  await edge.dblclick();
  await until(async () => Math.abs((await widthOf(page, '.slot')) - usual) < 2, 'it is not as wide as usual');
  await edge.focus();
  await page.keyboard.press('Enter');
  await panels(page).waitFor({ state: 'detached' });
  await page.keyboard.press('2');
  await page.getByRole('button', { name: 'Close State' }).click();
  await panels(page).waitFor({ state: 'detached' });
  await close(page);
});

test('a briefing opens its proof, a plan that waits its grounding; what was closed stays closed', async () => {
  const page = await open(browser);
  await ask(page, 'Cedar Creek recovery briefing', { app: 'recovery' });
  await page.getByRole('region', { name: 'Proof', exact: true }).waitFor();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Close Proof' }).click();
  await page.waitForFunction(() => location.hash.includes('panel=chat'));
  await page.reload();
  await page.getByRole('slider', { name: 'Playhead' }).waitFor();
  assert.equal(await page.getByRole('region', { name: 'Proof', exact: true }).count(), 0);
  await ask(page, 'What is known about explainable AI in medicine?', { app: 'research' });
  await page.getByRole('region', { name: 'Grounding', exact: true }).waitFor();
  await close(page);
});

test('a large screen shows the graph and another panel beside the chat', async () => {
  const page = await open(browser, '', { width: 2560, height: 1300 });
  await newChat(page, 'tour');
  assert.equal(await panels(page).count(), 0);
  await ask(page, 'parallel specialists');
  await page.getByRole('region', { name: 'Graph', exact: true }).waitFor();
  await openPanel(page, 'State');
  assert.equal(await panels(page).count(), 2);
  await checkAccess(page);
  await close(page);
});

test('on a phone everything that is pressed is large enough, and the trace is a list', async () => {
  const page = await open(browser, '', { width: 390, height: 844, dark: true, hasTouch: true });
  await ask(page, 'approval');
  const small = () =>
    page.evaluate((least) => {
      const pressed = 'button, select, input:not([type=range], [type=checkbox], [type=file]), summary, a.button';
      const inText = '.prose, .marker, .link, .json';
      return [...document.querySelectorAll(pressed)].flatMap((one) => {
        const { width, height } = one.getBoundingClientRect();
        if (width === 0 || one.closest(inText) || (width >= least && height >= least)) return [];
        return [`${one.outerHTML.slice(0, 120)} is ${Math.round(width)} × ${Math.round(height)}`];
      });
    }, TARGET - 0.5);
  assert.deepEqual(await small(), []);
  for (const name of ['State', 'Proof', 'Grounding', 'Event', 'Model', 'Trace']) {
    await openPanel(page, name);
    assert.deepEqual(await small(), [], name);
  }
  await page.getByRole('tree', { name: 'Steps' }).waitFor();
  await checkAccess(page);
  await close(page);
});
