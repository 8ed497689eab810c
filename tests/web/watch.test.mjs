// Save to see: an app's file is changed on disk, and the open conversation says what it would do now.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, checkAccess, close, launch, open, say, settled, until } from './browser.mjs';

const APP = 'prism_test_stand';
const FILE = path.join(process.env.PRISM_AGENTS, APP, 'agent.py');
const WORDS = 'in euros';

let browser;
let page;
let sound;
before(async () => {
  browser = await launch();
  sound = await readFile(FILE, 'utf-8');
  page = await open(browser);
  await ask(page, 'apples', { app: APP });
});
afterEach(async (t) => {
  await writeFile(FILE, sound);
  await afterTest(t, page);
});
after(async () => {
  await close(page);
  await browser.close();
});

const strip = () => page.getByRole('region', { name: 'Saved code' });
const told = () => strip().getByRole('status');
const save = (text) => writeFile(FILE, text);
const changed = () => sound.replace(WORDS, 'in dollars');
const conversations = () => page.evaluate(async () => (await (await fetch('api/conversations')).json()).length);

async function differs() {
  await save(changed());
  await told().getByText(/^Differs from call 1 of pricer$/).waitFor();
}

test('a changed instruction is named, and the corrected one is the same as before', async () => {
  const listed = await conversations();
  await page.evaluate(() => fetch('api/watch/prism_test_stand/none')); // what it imports is imported
  await differs();
  await strip().getByRole('heading', { name: 'instruction' }).waitFor();
  assert.equal(await strip().locator('del').innerText(), 'euros,');
  assert.equal(await strip().locator('ins').innerText(), 'dollars,');
  await checkAccess(page);
  await page.screenshot({ path: path.join(process.env.PRISM_PICTURES, 'differs.png') });
  await save(sound);
  await told().getByText(/^Same as before \(\d+ model calls in /).waitFor();
  await page.screenshot({ path: path.join(process.env.PRISM_PICTURES, 'same.png') });
  assert.equal(await conversations(), listed);
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('x');
  await strip().waitFor({ state: 'detached' });
});

test('code that cannot be loaded is shown with its file and line, and the old code answers', async () => {
  await save(`${sound}\ndef (\n`);
  const line = sound.split('\n').length + 1;
  await told().getByText(new RegExp(`cannot be loaded.*SyntaxError.*agent.py, line ${line}`)).waitFor();
  await page.screenshot({ path: path.join(process.env.PRISM_PICTURES, 'broken.png') });
  await page.goto(page.url());
  await page.reload();
  await told().getByText(/cannot be loaded/).waitFor();
  await say(page, 'apples');
  await settled(page);
  await strip().waitFor({ state: 'detached' });
  assert.equal(await page.getByText('could not be loaded').count(), 0);
  await save(sound);
  await told().getByText(/^Same as before/).waitFor();
});

test('a clock in the instruction can be ignored', async () => {
  const timed = (time) => sound.replace(WORDS, `in euros, at ${time}`);
  const at = page.url();
  await save(timed('9:05'));
  await told().getByText(/^Differs/).waitFor();
  await page.goto('about:blank');
  await page.goto(at);
  await ask(page, 'pears', { app: APP });
  await save(timed('9:06'));
  await strip().getByText(/^Only a date or time \('9:05', now '9:06'\) differs/).waitFor();
  await page.screenshot({ path: path.join(process.env.PRISM_PICTURES, 'clock.png') });
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('u');
  await told().getByText(/^Same as before/).waitFor();
  await page.goto(at);
});

test('compare opens both runs', async () => {
  const at = page.url();
  await differs();
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('w');
  await page.getByRole('heading', { name: 'Compare', exact: true }).waitFor();
  await page.getByText('Outcome changed').waitFor();
  await page.goto(at);
  await strip().waitFor();
});

test('going on live begins a conversation of its own', async () => {
  const at = page.url();
  await differs();
  assert.ok(await strip().getByRole('button', { name: /^Keep/ }).isDisabled());
  await strip().getByRole('button', { name: /^Go on live/ }).click();
  await until(() => page.url() !== at, 'no other conversation opens');
  await settled(page);
  await page.getByText(/^Rerun of/).first().waitFor();
  await page.goto(at);
});

test('what differs only in what follows can be kept', async () => {
  const at = page.url();
  await save(`${sound}
def thank(callback_context):
    callback_context.state["thanked"] = True


root_agent.after_agent_callback = thank
`);
  await told().getByText('Every model call is the same; what follows differs: state').waitFor();
  await strip().getByRole('heading', { name: 'state thanked' }).waitFor();
  assert.equal(await strip().locator('ins').innerText(), 'true');
  await strip().getByRole('button', { name: /^Keep/ }).click();
  await until(() => page.url() !== at, 'no other conversation opens');
  await settled(page);
});
