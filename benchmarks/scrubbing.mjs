// node scrubbing.mjs ROUNDS FILE…: drags the playhead of shared runs to and fro, and prints, a line of JSON for each
// file and round, the longest task of the page and the CPU time of a move, in milliseconds.
process.env.PRISM_URL ??= 'http://127.0.0.1';
const { launch } = await import('../tests/web/browser.mjs');
import { pathToFileURL } from 'node:url';

const MOVES = 24;
const [rounds, ...files] = process.argv.slice(2);
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
}

for (let round = 0; round <= Number(rounds); round++) {
  for (const file of files) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', offline: true });
    const page = await context.newPage();
    await page.goto(`${pathToFileURL(file)}#/?panel=state&waterfall=open`);
    await page.getByRole('list', { name: 'Lanes' }).waitFor();
    await scrub(page); // What is compiled and folded once is not counted.
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const spent = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
    await page.evaluate(() => {
      globalThis.tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
    });
    const before = await spent();
    await scrub(page);
    const cpu = ((await spent()) - before) * (1000 / MOVES);
    const longest = await page.evaluate(() => Math.max(0, ...tasks));
    if (round > 0) console.log(JSON.stringify({ file, longest, cpu }));
    await context.close();
  }
}
await browser.close();
