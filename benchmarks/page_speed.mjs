// An answer streamed into the built page in Chromium, and into a bare text node; prints the time each spent in long
// tasks. The server here is a stand-in that only serves the page's files and tokens at a steady pace.
//
//     PRISM_URL=- node benchmarks/page_speed.mjs TOKENS TOKENS_PER_SECOND
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { launch } from '../tests/web/browser.mjs';

const [tokens, pace] = process.argv.slice(2).map(Number);
const PAGE = path.join(import.meta.dirname, '..', 'src', 'adk_prism', 'web', 'dist');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const WORDS = 'the prism bends **each** colour by its `own` angle and so the colours part on the wall'.split(' ');
const APP = { name: 'bench', description: '', agents: ['bench'], models: [], offline: true, bundled: false, prompts: [] };
const PLAIN = '<!doctype html><div id="log" style="height:600px;width:780px;overflow:auto;white-space:pre-wrap"></div>';

const word = (index) => WORDS[index % WORDS.length] + (index % 60 === 59 ? '\n\n' : ' ');

async function stream(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (chunk) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  for (const chunk of [{ type: 'start', messageId: 'm' }, { type: 'start-step' }, { type: 'text-start', id: 't' }]) send(chunk);
  const began = performance.now();
  for (let sent = 0; sent < tokens; ) {
    const due = Math.min(tokens, Math.floor(((performance.now() - began) / 1000) * pace));
    for (; sent < due; sent++) send({ type: 'text-delta', id: 't', delta: word(sent) });
    await new Promise((next) => setTimeout(next, 5));
  }
  for (const chunk of [{ type: 'text-end', id: 't' }, { type: 'finish-step' }, { type: 'finish', finishReason: 'stop', messageMetadata: { usage: {} } }]) send(chunk);
  response.end('data: [DONE]\n\n');
}

const ROUTES = {
  '/api/apps': (response) => response.end(JSON.stringify([APP])),
  '/api/conversations': (response) => response.end('[]'),
  '/plain': (response) => response.setHeader('content-type', 'text/html').end(PLAIN),
  '/api/chat/bench': stream,
};

const server = http.createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://server');
  if (ROUTES[pathname]) return ROUTES[pathname](response);
  const file = path.join(PAGE, pathname === '/' ? 'index.html' : path.normalize(pathname));
  try {
    response.setHeader('content-type', TYPES[path.extname(file)] ?? 'text/plain').end(await readFile(file));
  } catch {
    response.writeHead(404).end();
  }
});

/** Count, in the page, the time of tasks over 50 ms. */
const watch = () => {
  globalThis.longTasks = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((task) => (globalThis.longTasks += task.duration))).observe({ type: 'longtask' });
};

async function inPage(page, url) {
  await page.goto(url);
  await page.getByRole('navigation').getByRole('button', { name: 'bench', exact: true }).click();
  await page.getByRole('textbox', { name: 'Message' }).fill('go');
  await page.evaluate(watch);
  await page.keyboard.press('Enter');
  await page.locator('.message-foot').waitFor({ timeout: 0 });
}

async function inText(page, url) {
  await page.goto(`${url}/plain`);
  await page.evaluate(watch);
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

await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const browser = await launch();
const found = {};
for (const [name, run] of Object.entries({ page: inPage, text: inText })) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  await run(page, `http://127.0.0.1:${server.address().port}`);
  found[name] = await page.evaluate(() => globalThis.longTasks / 1000);
  await page.close();
}
console.log(JSON.stringify(found));
await browser.close();
server.close();
server.closeAllConnections();
