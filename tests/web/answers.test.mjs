// What a person answers: approvals inside sub-agents and with payloads, results that come late, and answers that come too late.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, chat, checkAccess, close, launch, open, say, settled, unfold } from './browser.mjs';
import { proxy } from './proxy.mjs';

let browser;
let between;
let page;
let office;
before(async () => {
  browser = await launch();
  between = await proxy(process.env.PRISM_ODD_URL, '/prism');
  page = await open(browser, '', { width: 1280, height: 1100, allow: [/status of 409/] });
  office = await open(browser, '', { url: between.url, width: 1280, height: 1100, allow: [/status of 422/] });
});
afterEach(async (t) => {
  await afterTest(t, page);
  await afterTest(t, office);
});
after(async () => {
  await browser.close();
  between.close();
});

const tool = (on, name) => on.getByRole('group', { name: new RegExp(`^Tool ${name}:`) });
const waits = (on, name, words) => on.getByRole('group', { name: `Tool ${name}: ${words}` }).waitFor();
const picture = async (on, name) => process.env.PICTURES && on.screenshot({ path: `${process.env.PICTURES}/${name}.png` });

/** How an approval inside a sub-agent is decided, and what comes of it. */
const DECIDED = [
  ['approved', async () => page.getByRole('button', { name: 'Approve' }).click(), 'The clerk reports: The refund is paid.', 'You approved this call.'],
  [
    'denied',
    async () => {
      await page.getByRole('button', { name: 'Deny…' }).click();
      await page.getByRole('button', { name: 'Deny' }).click();
    },
    'The clerk reports: The refund was not approved.',
    'You denied this call.',
  ],
];

for (const [name, decide, words, decision] of DECIDED) {
  test(`an approval inside a sub-agent is ${name}, and the delegating call goes on`, async () => {
    await ask(page, 'sub-agent approval');
    await waits(page, 'clerk', 'waiting for approval of issue_refund');
    assert.equal(await page.getByRole('button', { name: 'Send result' }).count(), 0);
    await checkAccess(page);
    await picture(page, `sub-agent-${name}`);
    await decide();
    for (const _ of ['live', 'loaded again']) {
      await chat(page).getByText(words).waitFor();
      await settled(page);
      await unfold(page, 'Clerk');
      await waits(page, 'clerk', 'done');
      await tool(page, 'issue_refund').getByRole('button').first().click();
      await chat(page).getByText(decision).waitFor();
      await page.reload();
    }
  });
}

test('approvals of parallel specialists are sent together, each call says what it waits for', async () => {
  await ask(office, 'pay', { app: 'office' });
  await waits(office, 'north', 'waiting for approval of pay');
  await office.getByRole('button', { name: 'Approve' }).first().click();
  await waits(office, 'pay', 'approved');
  await waits(office, 'south', 'waiting for approval of pay');
  await picture(office, 'parallel');
  await office.getByRole('button', { name: 'Approve', exact: true }).click();
  await chat(office).getByText('north paid 10').last().waitFor();
  await chat(office).getByText('The office says:').waitFor();
  await settled(office);
  await unfold(office, 'South');
  await waits(office, 'south', 'done');
});

test('an approval that wants a payload is a form', async () => {
  await ask(office, 'time off', { app: 'office' });
  await office.getByText('Approve, and fill this in.').waitFor();
  await office.getByRole('spinbutton', { name: 'approved_days' }).fill('3');
  await checkAccess(office);
  await picture(office, 'payload');
  await office.getByRole('button', { name: 'Approve' }).click();
  await chat(office).getByText("'approved_days': 3").waitFor();
  await chat(office).getByText("'comment': ''").waitFor();
});

test('a payload that does not fit leaves the form open, with what the server says', async () => {
  await ask(office, 'shift', { app: 'office' });
  const field = office.getByRole('textbox', { name: 'Value for the tool (JSON)' });
  await field.fill('{"range": "always"}');
  await office.getByRole('button', { name: 'Approve' }).click();
  await office.locator('.ask').getByRole('alert').waitFor();
  assert.equal(await field.inputValue(), '{"range":"always"}');
  await picture(office, 'payload-refused');
  await field.fill('{"range": {"first": 2, "last": 3}}');
  await office.getByRole('button', { name: 'Approve' }).click();
  await chat(office).getByText("{'first': 2, 'last': 3}").waitFor();
});

test('a denial needs no payload', async () => {
  await ask(office, 'time off', { app: 'office' });
  await office.getByRole('button', { name: 'Deny…' }).click();
  await office.getByRole('button', { name: 'Deny' }).click();
  await waits(office, 'request_time_off', 'denied');
});

test('what was answered with another message says so, at once and when the chat is loaded again', async () => {
  await ask(page, 'sub-agent approval');
  await say(page, 'text');
  for (const _ of ['live', 'loaded again']) {
    await settled(page);
    await unfold(page, 'Clerk');
    await waits(page, 'issue_refund', 'Answered in chat');
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
    await waits(page, 'clerk', 'failed');
    await picture(page, 'expired');
    await page.reload();
  }
});

test('a decision that comes too late is taken back, and the chat shows what the server has', async () => {
  await ask(page, 'approval');
  const other = await open(browser, new URL(page.url()).hash, { width: 1280 });
  await other.getByRole('button', { name: 'Approve' }).click();
  await chat(other).getByText('The invoice was sent.').waitFor();
  await close(other);
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('alert').getByText('Your answer was not accepted').waitFor();
  await chat(page).getByText('The invoice was sent.').waitFor();
  await waits(page, 'send_invoice', 'done');
  await picture(page, 'taken-back');
  await say(page, 'text');
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('a long-running call takes results after other messages, as often as there is news', async () => {
  await ask(page, 'long-running tool');
  await say(page, 'text');
  await chat(page).getByText('This is plain text').waitFor();
  await settled(page);
  const call = tool(page, 'order_print');
  await call.getByRole('button').first().click();
  await call.locator('summary', { hasText: 'Send the final result' }).click();
  for (const step of ['first', 'second']) {
    await page.getByRole('textbox', { name: 'Result of order_print' }).fill(`{"copy": "${step}"}`);
    await page.getByRole('button', { name: 'Send result' }).click();
    await page.locator('.message').nth(1).getByText(`The print is done: copy ${step}`).waitFor();
    await settled(page);
  }
  assert.equal(await page.locator('.message').count(), 4);
  await picture(page, 'late-results');
  await page.reload();
  await waits(page, 'order_print', 'done');
  await page.locator('.message').nth(1).getByText('The print is done: copy second').waitFor();
});

test('a client tool is answered after other messages, and waits no longer', async () => {
  await ask(page, 'client tool');
  await say(page, 'text');
  await chat(page).getByText('This is plain text').waitFor();
  await settled(page);
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Faro"}');
  await page.getByRole('button', { name: 'Send result' }).click();
  for (const _ of ['live', 'loaded again']) {
    await page.locator('.message').nth(1).getByText('Your device answered: city Faro').waitFor();
    await waits(page, 'get_location', 'done');
    await page.reload();
  }
});

test('a sign-in that was handed over asks for nothing', async () => {
  await ask(page, 'credential request');
  await waits(page, 'read_calendar', 'waiting for your sign-in');
  await page.getByRole('textbox', { name: 'Redirect URL' }).fill('http://127.0.0.1/back?code=synthetic&state=synthetic');
  await page.getByRole('button', { name: 'Continue' }).click();
  for (const _ of ['live', 'loaded again']) {
    await page.locator('[data-request="answered"]').waitFor();
    await chat(page).getByText('The calendar says').waitFor();
    await page.locator('.tool[data-state="input-available"]').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('button', { name: 'Continue' }).count(), 0);
    await page.reload();
  }
});
