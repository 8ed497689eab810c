// One chat after another in one page, each with its film and panels; prints what the page held after some of them, the
// garbage collected: bytes of the heap, nodes of documents, listeners.
//
//     PRISM_URL=- node benchmarks/page_memory.mjs RUNS
import { launch } from '../tests/web/browser.mjs';
import { ask, stand } from './page_stand.mjs';

const [runs] = process.argv.slice(2).map(Number);
const EVERY = Math.max(1, Math.floor(runs / 5));
const server = await stand({ tokens: 300, pace: 5000 });
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' })).newPage();
const session = await page.context().newCDPSession(page);
await session.send('Performance.enable');

async function held() {
  // Twice: what the first round lets go of may hold more.
  for (let round = 0; round < 2; round++) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name) => metrics.find((metric) => metric.name === name).value;
  return { heap: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') };
}

await page.goto(server.url);
const found = [];
for (let run = 1; run <= runs; run++) {
  await ask(page);
  await page.getByRole('slider', { name: 'Playhead' }).waitFor();
  if (run % EVERY) continue;
  await page.goto(`${server.url}/#/`);
  await page.locator('.card').first().waitFor();
  found.push({ run, ...(await held()) });
}
console.log(JSON.stringify(found));
await browser.close();
server.close();
