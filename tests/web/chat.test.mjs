// The chat against the real server: every mechanism of the tour, shown and answered.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { afterTest, ask, chat, checkAccess, close, launch, newChat, open, say, settled, until } from './browser.mjs';

let browser;
let page;
before(async () => {
  browser = await launch();
  // The one file that nobody here can fetch is refused by the server.
  // Thoughts and state changes are shown, too: they are details, and off at first.
  page = await open(browser, '', { width: 1280, init: () => localStorage.setItem('prism:details', 'shown'), allow: [/status of 403/], permissions: ['clipboard-read', 'clipboard-write', 'geolocation'], geolocation: { latitude: 38.7223, longitude: -9.1393 } });
});
afterEach((t) => afterTest(t, page));
after(() => browser.close());

/** What is to be seen after a prompt; each row is one chat. */
const SHOWN = [
  ['text', '.prose'],
  ['reasoning', '[data-part="reasoning"] .fold summary'],
  ['tool', '.tool[data-state="output-available"]'],
  ['streamed arguments', '.tool[data-state="output-available"]'],
  ['tool error', '.tool[data-state="output-error"] .failure'],
  ['recovered error', '.group-head:has-text("1 failed")'],
  ['long-running tool', '.tool .tool-state:text("Pending")'],
  ['progress', '.group-head:has-text("Copy files")'],
  ['code', '[data-part="data-executable-code"] pre', '[data-part="data-code-execution-result"] pre'],
  ['image', '.file img'],
  ['large file 300', '.file a[download]'],
  ['file reference', '[data-part="file"] a, [data-part="data-file-reference"] code'],
  ['audio', 'audio'],
  ['sources', '.sources li a[target="_blank"]', '.marker'],
  ['state', '[data-part="data-state"] .chip'],
  ['artifact', '[data-part="data-artifact"] button'],
  ['transfer', '[data-part="data-transfer"] strong'],
  ['parallel specialists', '.group-head:has-text("Food specialist")', '.group-head:has-text("1 tool")'],
  ['agent tool', '.tool'],
  ['workflow', '.group-head:has-text("Plan trip")'],
  ['max tokens', '.message-facts .chip[data-kind="error"]'],
  ['safety block', '.message-facts .chip[data-kind="error"]'],
  ['server-side tool', '.tool:has-text("by the provider")'],
  ['empty answer', '.note:has-text("ended without an answer")'],
];

test('what the agent does is shown', async (t) => {
  for (const [prompt, ...selectors] of SHOWN) {
    await t.test(prompt, async () => {
      await ask(page, prompt);
      for (const selector of selectors) await page.locator('.log').locator(selector).first().waitFor();
    });
  }
});

test('help is Markdown with code, and who speaks is said', async () => {
  await ask(page, 'help');
  await page.locator('.prose li code').first().waitFor();
  assert.equal(await page.locator('.speaker').first().innerText(), 'Tour');
  await checkAccess(page);
});

test('an approval takes the focus, is approved, and the run goes on', async () => {
  await ask(page, 'approval');
  await page.locator('.ask:focus-within, .ask:focus').waitFor();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Approve' }).click();
  await chat(page).getByText('The invoice was sent.').waitFor();
  await page.locator('.tool[data-state="output-available"]').waitFor();
});

test('a denial says why', async () => {
  await ask(page, 'approval');
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('textbox', { name: 'Reason for denying' }).fill('too much');
  await page.keyboard.press('Enter');
  await chat(page).getByText('was not approved').waitFor();
  await page.locator('.tool[data-state="output-denied"]').waitFor();
});

test('two approvals are sent together; the first one has the focus', async () => {
  await ask(page, 'two approvals');
  await page.locator('.ask').nth(1).waitFor();
  await until(() => page.locator('.ask').first().evaluate((card) => card.contains(document.activeElement)), 'the first card has not the focus');
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await page.getByRole('button', { name: 'Approve' }).last().click();
  await chat(page).getByText('The invoice was sent, and the draft was deleted.').waitFor();
});

test('a client tool asks this device', async () => {
  await ask(page, 'client tool');
  await page.getByRole('button', { name: 'Share this device’s location' }).click();
  await chat(page).getByText('Your device answered: latitude 38.72').waitFor();
});

test('a client tool is answered by hand, or failed', async () => {
  await ask(page, 'client tool');
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Lisbon"}');
  await page.getByRole('button', { name: 'Send result' }).click();
  await chat(page).getByText('Your device answered: city Lisbon').waitFor();
  await ask(page, 'client tool');
  await page.getByRole('button', { name: 'Report an error' }).click();
  await chat(page).getByText('Your device answered: error').waitFor();
});

test('a batch waits for all of its answers', async () => {
  await ask(page, 'mixed batch');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Porto"}');
  await page.getByRole('button', { name: 'Send result' }).click();
  await chat(page).getByText('Your device: city Porto. The invoice was sent.').waitFor();
});

test('an input request is a form of its schema', async () => {
  await ask(page, 'input request');
  await page.getByRole('spinbutton', { name: 'Guests' }).fill('4');
  await page.getByRole('checkbox', { name: 'Terrace' }).check();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.locator('[data-part="data-input-response"]').waitFor();
  await page.locator('.request .quiet', { hasText: 'Answered.' }).waitFor();
  await settled(page);
});

test('a sign-in is handed over', async () => {
  await ask(page, 'credential request');
  await page.getByRole('link', { name: 'Sign in at accounts.example.com' }).waitFor();
  await page.getByRole('textbox', { name: 'Redirect URL' }).fill('http://127.0.0.1/back?code=synthetic&state=synthetic');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('.request .quiet', { hasText: 'Answered.' }).waitFor();
});

test('a failed run says so and can be tried again', async () => {
  await ask(page, 'exception', { wait: false });
  // The developer's own machine: what the exception says, live and when the chat is loaded again.
  for (const isLoadedAgain of [false, true]) {
    if (isLoadedAgain) await page.reload();
    await page.getByRole('alert').getByText('The run failed in always_fail.').waitFor();
    await page.locator('.tool').getByText(/^This tool always fails/).waitFor();
    assert.equal(await page.getByRole('log').locator('p, span').getByText(/^This tool always fails/).count(), 1, 'told more than once');
  }
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').waitFor();
});

test('stop ends the run, by button and by key', async () => {
  for (const stop of [() => page.getByRole('button', { name: 'Stop' }).click(), () => page.keyboard.press('Escape')]) {
    await ask(page, 'slow 60', { wait: false });
    await chat(page).getByText('I keep silent').waitFor();
    await stop();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await page.locator('.message').last().getByText('This answer was stopped').waitFor();
  }
  await page.reload();
  await page.locator('.message').last().getByText('This answer was stopped').waitFor();
});

test('a sub-agent is one line when it is done, and shows its nodes by name and value when it is opened', async () => {
  await ask(page, 'workflow');
  const group = page.getByRole('group', { name: 'Plan trip', exact: true });
  await group.getByText(/\d m?s/).waitFor();
  assert.equal(await group.locator('[data-part]').count(), 0);
  await group.getByRole('button', { name: /^Plan trip/ }).click();
  await group.locator('[data-part="data-output"]', { hasText: 'Brief' }).getByText('3 days in Lisbon').first().waitFor();
  assert.doesNotMatch(await group.innerText(), /@/);
  await checkAccess(page);
});

test('details are shown and hidden by a key, and remembered', async () => {
  const other = await open(browser, '', { width: 1280 });
  await ask(other, 'state');
  await other.locator('.log .tool').first().waitFor();
  assert.equal(await other.locator('[data-part="data-state"]').count(), 0);
  await other.locator('.log').focus();
  await other.keyboard.press('d');
  await other.locator('[data-part="data-state"]').first().waitFor();
  await other.reload();
  await other.locator('[data-part="data-state"]').first().waitFor();
  await close(other);
});

test('regenerate and edit take back what came after', async () => {
  await ask(page, 'text');
  await page.locator('body').click({ position: { x: 5, y: 300 } });
  await page.keyboard.press('Escape');
  await page.keyboard.press('r');
  await settled(page);
  assert.equal(await page.locator('.message').count(), 2);
  await page.locator('.message[data-role="user"]').hover();
  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('tool');
  await page.getByRole('button', { name: 'Resend' }).click();
  await page.locator('.log .tool').waitFor();
  await settled(page);
  assert.equal(await page.locator('.message').count(), 2);
});

test('an answer gets a thumb and a note, which are there after a reload', async () => {
  await ask(page, 'text');
  const thumb = (name, pressed) => page.locator(`button[aria-label="${name}"][aria-pressed="${pressed}"]`);
  await thumb('Good answer', false).press('Enter');
  await thumb('Good answer', true).waitFor();
  await page.getByRole('button', { name: 'Add a note' }).click();
  const note = page.getByRole('textbox', { name: 'What was good or bad about this answer?' });
  await note.fill('Clear words');
  await page.getByRole('button', { name: 'Save note' }).click();
  await page.getByRole('button', { name: 'Your note' }).waitFor();
  await page.reload();
  await thumb('Good answer', true).waitFor();
  await page.getByRole('button', { name: 'Your note' }).click();
  assert.equal(await note.inputValue(), 'Clear words');
  await checkAccess(page);
  await thumb('Bad answer', false).click();
  await thumb('Bad answer', true).waitFor();
  await thumb('Good answer', false).waitFor();
  await thumb('Bad answer', true).click();
  await thumb('Bad answer', false).waitFor();
  await page.reload();
  await thumb('Bad answer', false).waitFor();
});

test('files are attached and shown', async () => {
  await newChat(page, 'tour');
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.locator('input[type=file]').setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: pixel });
  await page.getByText('pixel.png').waitFor();
  await say(page, 'text');
  await settled(page);
  await page.locator('.message[data-role="user"] img').waitFor();
  await page.reload();
  await page.locator('.message[data-role="user"] img').waitFor();
});

test('a large file is sent ahead, and can be stopped', async () => {
  await newChat(page, 'tour');
  const attach = (name) => page.locator('input[type=file]').setInputFiles({ name, mimeType: 'application/pdf', buffer: Buffer.alloc(9_000_000, 'x') });
  const pieces = [];
  page.on('request', (request) => request.method() === 'PATCH' && pieces.push(request.url()));
  // Held until somebody has looked at it.
  let letGo;
  const held = new Promise((resolve) => (letGo = resolve));
  const route = /\/api\/uploads\/tour\/file-/;
  await page.route(route, async (each) => { await held; await each.continue().catch(() => undefined); });
  await attach('stopped.pdf');
  await page.getByRole('progressbar', { name: 'Sending stopped.pdf' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
  await checkAccess(page);
  await page.getByRole('button', { name: 'Remove stopped.pdf' }).click();
  await page.getByText('stopped.pdf').waitFor({ state: 'detached' });
  letGo();
  await page.unroute(route);
  pieces.length = 0;
  await attach('report.pdf');
  await until(async () => !(await page.getByRole('progressbar').count()), 'it is not sent');
  assert.equal(pieces.length, 3);
  await say(page, 'text');
  await settled(page);
  await page.locator('.message[data-role="user"]').getByText('report.pdf').first().waitFor();
  await page.reload();
  await page.locator('.message[data-role="user"]').getByText('report.pdf').first().waitFor();
});

test('copies: Markdown, curl, the conversation', async () => {
  await ask(page, "tool isn't it");
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('button', { name: 'Copy as Markdown' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await clipboard(), /get_weather\(\{"city":"Lisbon"\}\)/);
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await until(async () => /curl -N '.*\/api\/chat\/tour\?dialect=7'[^]*isn'\\''t it/.test(await clipboard()), 'nothing is copied');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Conversation (JSON)' }).click();
  assert.match((await download).suggestedFilename(), /\.json$/);
});

test('the past shows what had been said, and a reply from there would be a fork', async () => {
  await ask(page, 'tool');
  await page.evaluate(() => (location.hash += '?at=3'));
  await page.getByText(/^Step \d+ of \d+ · /).waitFor();
  await page.getByPlaceholder('Reply from here: creates a fork').waitFor();
  await page.locator('.log .tool').waitFor({ state: 'detached' });
  await page.locator('.log').focus();
  await page.keyboard.press('e');
  await page.locator('.log .tool').waitFor();
  await page.getByPlaceholder('Message tour…').waitFor();
});
