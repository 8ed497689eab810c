// The chat against the real server: every mechanism of the tour, shown and answered.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chatWith, checkAccess, close, launch, open, say, settled } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** What is to be seen after a prompt; each row is one chat. */
const SHOWN = [
  ['text', '.prose'],
  ['reasoning', '[data-part="reasoning"] .fold summary'],
  ['tool', '.tool[data-state="output-available"]'],
  ['streamed arguments', '.tool[data-state="output-available"]'],
  ['tool error', '.tool[data-state="output-error"] .failure'],
  ['recovered error', '[data-part="data-error"]'],
  ['long-running tool', '.tool .tool-state:text("later")'],
  ['progress', '.tool'],
  ['code', '[data-part="data-executable-code"] pre'],
  ['code', '[data-part="data-code-execution-result"] pre'],
  ['image', '.file img'],
  ['large file 300', '.file a[download]'],
  ['file reference', '[data-part="file"] a, [data-part="data-file-reference"] code'],
  ['audio', 'audio'],
  ['sources', '.sources li a[target="_blank"]'],
  ['sources', '.marker'],
  ['state', '[data-part="data-state"] .chip'],
  ['artifact', '[data-part="data-artifact"] button'],
  ['transfer', '[data-part="data-transfer"] strong'],
  ['parallel specialists', '.speaker:text("food_specialist")'],
  ['agent tool', '.tool'],
  ['workflow', '[data-part="data-output"]'],
  ['max tokens', '.message-facts .chip[data-kind="error"]'],
  ['safety block', '.message-facts .chip[data-kind="error"]'],
  ['server-side tool', '.tool:has-text("by the provider")'],
  ['empty answer', '.message-foot'],
];

describe('what the agent does is shown', () => {
  for (const [prompt, selector] of SHOWN) {
    test(`${prompt}: ${selector}`, async () => {
      const page = await chatWith(browser, 'tour', prompt);
      await page.locator(selector).first().waitFor();
      await close(page);
    });
  }
});

test('help is Markdown with code, and who speaks is said', async () => {
  const page = await chatWith(browser, 'tour', 'help');
  await page.locator('.prose li code').first().waitFor();
  assert.equal(await page.locator('.speaker').first().innerText(), 'tour');
  await checkAccess(page);
  await close(page);
});

test('an approval takes the focus, is approved, and the run goes on', async () => {
  const page = await chatWith(browser, 'tour', 'approval');
  await page.locator('.ask:focus-within, .ask:focus').waitFor();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('The invoice was sent.').waitFor();
  await page.locator('.tool[data-state="output-available"]').waitFor();
  await close(page);
});

test('a denial says why', async () => {
  const page = await chatWith(browser, 'tour', 'approval');
  await page.getByRole('button', { name: 'Deny…' }).click();
  await page.getByRole('textbox', { name: 'Reason for denying' }).fill('too much');
  await page.keyboard.press('Enter');
  await page.getByText('was not approved').waitFor();
  await page.locator('.tool[data-state="output-denied"]').waitFor();
  await close(page);
});

test('two approvals are sent together', async () => {
  const page = await chatWith(browser, 'tour', 'two approvals');
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await page.getByRole('button', { name: 'Approve' }).last().click();
  await page.getByText('The invoice was sent, and the draft was deleted.').waitFor();
  await close(page);
});

test('a client tool asks this device', async () => {
  const where = { latitude: 38.7223, longitude: -9.1393 };
  const page = await chatWith(browser, 'tour', 'client tool', { geolocation: where, permissions: ['geolocation'] });
  await page.getByRole('button', { name: 'Share this device’s location' }).click();
  await page.getByText('Your device answered: latitude 38.72').waitFor();
  await close(page);
});

test('a client tool is answered by hand, or failed', async () => {
  const page = await chatWith(browser, 'tour', 'client tool');
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Lisbon"}');
  await page.getByRole('button', { name: 'Send the result' }).click();
  await page.getByText('Your device answered: city Lisbon').waitFor();
  await close(page);
  const other = await chatWith(browser, 'tour', 'client tool');
  await other.getByRole('button', { name: 'It failed' }).click();
  await other.getByText('Your device answered: error').waitFor();
  await close(other);
});

test('a batch waits for all of its answers', async () => {
  const page = await chatWith(browser, 'tour', 'mixed batch');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('textbox', { name: 'Result of get_location' }).fill('{"city": "Porto"}');
  await page.getByRole('button', { name: 'Send the result' }).click();
  await page.getByText('Your device: city Porto. The invoice was sent.').waitFor();
  await close(page);
});

test('an input request is a form of its schema', async () => {
  const page = await chatWith(browser, 'tour', 'input request');
  await page.getByLabel('Guests').fill('4');
  await page.getByLabel('Terrace').check();
  await checkAccess(page);
  await page.getByRole('button', { name: 'Answer', exact: true }).click();
  await page.locator('[data-part="data-input-response"]').waitFor();
  await page.locator('.request .quiet', { hasText: 'Answered.' }).waitFor();
  await settled(page);
  await close(page);
});

test('a sign-in is handed over', async () => {
  const page = await chatWith(browser, 'tour', 'credential request');
  await page.getByRole('link', { name: 'Sign in at accounts.example.com' }).waitFor();
  await page.getByRole('textbox', { name: 'Address you were sent back to' }).fill('http://127.0.0.1/back?code=synthetic&state=synthetic');
  await page.getByRole('button', { name: 'Hand it over' }).click();
  await page.locator('.request .quiet', { hasText: 'Answered.' }).waitFor();
  await close(page);
});

test('a failed run says so and can be tried again', async () => {
  const page = await chatWith(browser, 'tour', 'exception', { wait: false });
  await page.getByRole('alert').waitFor();
  await page.reload();
  await page.getByRole('alert').getByText('failed').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').waitFor();
  await close(page);
});

test('stop ends the run', async () => {
  const page = await chatWith(browser, 'tour', 'slow 60', { wait: false });
  await page.getByText('I keep silent').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await close(page);
});

test('regenerate and edit take back what came after', async () => {
  const page = await chatWith(browser, 'tour', 'text');
  await page.locator('body').click({ position: { x: 5, y: 300 } });
  await page.keyboard.press('Escape');
  await page.keyboard.press('r');
  await settled(page);
  assert.equal(await page.locator('.message').count(), 2);
  await page.locator('.message[data-role="user"]').hover();
  await page.getByRole('button', { name: 'Edit and send again' }).click();
  await page.getByRole('textbox', { name: 'Edit your message' }).fill('tool');
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.locator('.tool').waitFor();
  await settled(page);
  assert.equal(await page.locator('.message').count(), 2);
  await close(page);
});

test('files are attached and shown', async () => {
  const page = await open(browser, '');
  await page.getByRole('navigation', { name: 'Apps and conversations' }).getByRole('button', { name: 'tour', exact: true }).click();
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await page.locator('input[type=file]').setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: pixel });
  await page.getByText('pixel.png').waitFor();
  await say(page, 'text');
  await settled(page);
  await page.locator('.message[data-role="user"] img').waitFor();
  await page.reload();
  await page.locator('.message[data-role="user"] img').waitFor();
  await close(page);
});

test('copies: Markdown, curl, the conversation', async () => {
  const page = await chatWith(browser, 'tour', "tool isn't it");
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('button', { name: 'Copy as Markdown' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await clipboard(), /get_weather\(\{"city":"Lisbon"\}\)/);
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  assert.match(await clipboard(), /curl -N '.*\/api\/chat\/tour\?dialect=7'[^]*isn'\\''t it/);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Conversation (JSON)' }).click();
  assert.match((await download).suggestedFilename(), /\.json$/);
  await close(page);
});

test('the past shows what had been said, and nothing can be sent from it', async () => {
  const page = await chatWith(browser, 'tour', 'tool');
  await page.evaluate(() => (location.hash += '?at=3'));
  await page.getByText('You are looking at event 3').waitFor();
  await page.locator('textarea:disabled').waitFor();
  assert.equal(await page.locator('.tool').count(), 0);
  await page.locator('.log').focus();
  await page.keyboard.press('e');
  await page.locator('.tool').waitFor();
  assert.equal(await page.locator('textarea:disabled').count(), 0);
  await close(page);
});
