// Takes docs/pictures/tour.png, the moving picture of the README, of a server that was just started:
//
//     ADK_PRISM_OFFLINE_DELAY=0.05 adk-prism serve --log memory:
//     PRISM_URL=http://127.0.0.1:8000 node tests/web/moving_picture.mjs
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { animated } from './apng.mjs';
import { chat, launch, newChat, open, openPanel, say, settled } from './browser.mjs';

const FILE = path.join(import.meta.dirname, '..', '..', 'docs', 'pictures', 'tour.png');
const LONGEST = 3 * 1024 ** 2;

const frames = [];
const browser = await launch();
const page = await open(browser, '', { width: 1200, height: 660 });
const shot = async (seconds) => frames.push({ png: await page.screenshot(), seconds });
/** What happens, in so many pictures. */
const watch = async (count, seconds) => {
  for (let index = 0; index < count; index++) {
    await page.waitForTimeout(seconds * 1000);
    await shot(seconds);
  }
};

// An approval in useChat.
await newChat(page, 'tour');
await page.getByRole('textbox', { name: 'Message' }).fill('approval');
await shot(1);
await page.keyboard.press('Enter');
await watch(3, 0.3);
await page.getByRole('button', { name: 'Approve' }).waitFor();
await shot(1.6);
await page.getByRole('button', { name: 'Approve' }).click();
await settled(page);
await shot(1.6);

// A reload in the middle of an answer.
await newChat(page, 'recovery');
await say(page, 'Give me a recovery briefing for Cedar Creek Fire');
await watch(6, 0.5);
await page.reload();
await chat(page).getByRole('article').first().waitFor();
await watch(6, 0.5);
await settled(page);
await page.waitForTimeout(800);
await shot(2);

// Back in time.
await openPanel(page, 'Trace');
const playhead = page.getByRole('slider', { name: 'Playhead' });
await playhead.waitFor();
const last = Number(await playhead.getAttribute('max'));
for (const share of [0.9, 0.75, 0.6, 0.45, 0.3, 0.15]) {
  await playhead.fill(String(Math.round(last * share)));
  await page.waitForTimeout(400);
  await shot(0.7);
}
await shot(2);
await browser.close();

const picture = animated(frames);
if (picture.length > LONGEST) throw new Error(`${picture.length} bytes: more than a README should load`);
await writeFile(FILE, picture);
console.log(`${frames.length} frames, ${picture.length} bytes`);
