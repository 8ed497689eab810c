// node scrubbing.mjs ROUNDS PANEL=FILE…: drags the playhead of shared runs to and fro, chat, graph, waterfall and a panel
// open. Prints, a line of JSON for each file and round, the longest task of the page and what a move costs, in
// milliseconds of the main thread's CPU time: what others do on the machine is not counted.
process.env.PRISM_URL ??= 'http://127.0.0.1';
const { launch } = await import('../tests/web/browser.mjs');
import { pathToFileURL } from 'node:url';
import { sum, tasksOf } from './main_thread.mjs';

const MOVES = 24;
const RESTED_MS = 500; // What is drawn late, once the playhead rests, is counted too.
const [rounds, ...runs] = process.argv.slice(2);
const browser = await launch();

async function scrub(page) {
  const box = await page.getByRole('slider', { name: 'Playhead' }).boundingBox();
  const place = (share) => [box.x + 4 + (box.width - 8) * share, box.y + box.height / 2];
  await page.mouse.move(...place(0.9));
  await page.mouse.down();
  for (let move = 0; move < MOVES; move++) {
    await page.mouse.move(...place(0.5 + 0.45 * Math.sin(move / 3)));
    // As a hand does: the next move comes with a later picture.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  }
  await page.mouse.up();
  await page.waitForTimeout(RESTED_MS);
}

for (let round = 0; round < Number(rounds); round++) {
  for (const run of runs) {
    const [panel, file] = run.split('=', 2);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', offline: true });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(`${pathToFileURL(file)}#/?panel=${panel}&waterfall=open`);
    await page.getByRole('list', { name: 'Lanes' }).waitFor();
    await scrub(page); // What is compiled and folded once is not counted.
    const tasks = await tasksOf(page, () => scrub(page));
    console.log(JSON.stringify({ run, longest: Math.max(...tasks), cpu: sum(tasks) / MOVES }));
    await context.close();
  }
}
await browser.close();
