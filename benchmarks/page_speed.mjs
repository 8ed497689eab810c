// An answer streamed into the built page in Chromium, and into a bare text node; prints, for each, in milliseconds: the
// time of tasks over 50 ms, as the browser reports them; the longest task in looks of some seconds at its beginning, middle
// and end; the CPU time of all, and of its first and its last tenth.
//
//     PRISM_URL=- node benchmarks/page_speed.mjs TOKENS TOKENS_PER_SECOND
import { launch } from '../tests/web/browser.mjs';
import { tasksOf } from './main_thread.mjs';
import { ask, stand } from './page_stand.mjs';

const LOOK_MS = 3000;
const [tokens, pace] = process.argv.slice(2).map(Number);
const whole = (tokens / pace) * 1000;

async function inText(page) {
  await page.evaluate(async () => {
    const log = document.getElementById('log');
    const text = log.appendChild(document.createTextNode(''));
    let rest = '';
    for await (const piece of (await fetch('/api/chat/bench')).body.pipeThrough(new TextDecoderStream())) {
      const events = (rest + piece).split('\n\n');
      rest = events.pop();
      for (const event of events) {
        const chunk = event.includes('text-delta') ? JSON.parse(event.slice(6)) : null;
        if (!chunk) continue;
        text.appendData(chunk.delta);
        log.scrollTop = log.scrollHeight;
      }
    }
  });
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Look at the page while it works. */
async function watched(page, run) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const spent = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
  await page.evaluate(() => {
    globalThis.longTasks = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((task) => (globalThis.longTasks += task.duration))).observe({ type: 'longtask' });
  });
  const began = performance.now();
  const until = (share) => pause(Math.max(0, began + whole * share - performance.now()));
  const working = run(page);
  const costs = [await spent()];
  const looks = [];
  for (const [share, look] of [[0.1, 1], [0.5, 1], [0.9, 0], [0.97, 1]]) {
    await until(share);
    costs.push(await spent());
    if (look) looks.push(...(await tasksOf(page, () => pause(Math.min(LOOK_MS, whole / 20)))));
  }
  await working;
  const [start, first, , ninth] = costs;
  const end = await spent();
  const long = await page.evaluate(() => globalThis.longTasks);
  return { long, longest: Math.max(...looks), all: end - start, first: first - start, last: end - ninth };
}

const server = await stand({ tokens, pace });
const browser = await launch();
const found = {};
for (const [name, { path, run }] of Object.entries({ page: { path: '/', run: ask }, text: { path: '/plain', run: inText } })) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await page.goto(server.url + path);
  found[name] = await watched(page, run);
  await page.close();
}
console.log(JSON.stringify(found));
await browser.close();
server.close();
