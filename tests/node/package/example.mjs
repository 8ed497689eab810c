// What every example of a chat has to do in Chromium, by the names that a person sees. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { launch, PATIENCE, until } from '../../web/browser.mjs';

/** A picture of one pixel. */
export const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
/** What the tour says once its call is approved and the page has run its tool. */
export const ANSWERED = /Your device: .*Lisbon.*The invoice was sent/;

const browser = await launch();
after(() => browser.close());

/** Open a page of its own; what is thrown on it is in `page.troubles`. */
export async function open(address, context = {}) {
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 }, ...context })).newPage();
  page.setDefaultTimeout(PATIENCE);
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  await page.goto(address);
  return page;
}

export async function say(page, text) {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

export const settled = (page) => page.getByRole('button', { name: 'Send', exact: true }).waitFor();

/** Return the messages as they are shown. */
export const shown = async (page) => (await page.locator('[data-role]').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

/** A call is approved and a tool of the page runs, in one message. */
export async function approve(page, picture = process.env.PICTURE) {
  await say(page, 'mixed batch');
  const button = page.getByRole('button', { name: 'Allow', exact: true });
  await button.waitFor();
  if (picture) await page.screenshot({ path: picture });
  await button.click();
  await page.getByText(ANSWERED).waitFor();
  await settled(page);
}

/** A file goes up with a message, and is shown. */
export async function attach(page) {
  const file = { name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL };
  const files = page.getByLabel('Files', { exact: true }).or(page.getByRole('button', { name: 'Files', exact: true }));
  if (await files.evaluate(({ tagName }) => tagName === 'INPUT')) await files.setInputFiles(file);
  else {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), files.click()]);
    await chooser.setFiles(file);
    await page.getByText(file.name).waitFor();
  }
  await say(page, 'sources');
  await page.getByText('Each colour is bent by its own angle.').waitFor();
  await settled(page);
  const isLoaded = () => page.locator('[data-role=user] img').last().evaluate((image) => image.complete && image.naturalWidth > 0);
  await until(isLoaded, 'the picture is not shown');
  assert.ok((await page.locator('a[href="https://example.com/optics/prism"]').count()) > 0, 'the source is not linked');
}

/** A page that is loaded again shows the same. */
export async function reload(page) {
  const before = await shown(page);
  assert.ok(before.length >= 4, String(before));
  await page.reload();
  await until(async () => (await shown(page)).length === before.length, 'the messages are gone');
  await until(async () => String(await shown(page)) === String(before), `the page showed ${before} before`);
}

/** The conversation is in the list; a new one is empty. */
export async function startAnother(page, title) {
  await page.getByRole('navigation').getByText(title).first().waitFor();
  await page.getByRole('navigation').getByText('New chat').click();
  await page.locator('[data-role]').first().waitFor({ state: 'detached' });
}

export function quiet(page) {
  assert.deepEqual(page.troubles, []);
}
