// A long list of conversations in the built page in Chromium; prints the longest task of each thing done with it, in
// milliseconds of CPU time.
//
//     PRISM_URL=- node benchmarks/page_list.mjs CONVERSATIONS
import { launch } from '../tests/web/browser.mjs';
import { tasksOf } from './main_thread.mjs';
import { conversations, stand } from './page_stand.mjs';

const [count] = process.argv.slice(2).map(Number);
const settle = (page) => page.waitForTimeout(500);

async function scrollToEnd(page) {
  await page.evaluate(async (count) => {
    const drawn = () => document.querySelectorAll('.rail-list li').length;
    while (drawn() < count) {
      document.querySelector('.rail-end').scrollIntoView();
      await new Promise((next) => setTimeout(next, 30));
    }
  }, count);
}

/** Type as a person does: the list follows every letter. */
async function search(page) {
  await page.getByRole('searchbox').pressSequentially('words 77', { delay: 60 });
  await page.locator('.rail-list').getByText('Talk 77', { exact: true }).waitFor();
}

const STEPS = {
  open: async (page, url) => {
    await page.goto(url);
    await page.locator('.rail-list').getByText('Talk 20', { exact: true }).waitFor();
  },
  scroll: scrollToEnd,
  search,
  clear: async (page) => {
    await page.getByRole('searchbox').fill('');
    await page.locator('.rail-list').getByText('Talk 1', { exact: true }).waitFor();
  },
};

const server = await stand({ listed: conversations(count) });
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
const found = {};
for (const [name, act] of Object.entries(STEPS)) {
  const tasks = await tasksOf(page, async () => {
    await act(page, server.url);
    await settle(page);
  });
  found[name] = Math.max(...tasks);
}
console.log(JSON.stringify(found));
await browser.close();
server.close();
