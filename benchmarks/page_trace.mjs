// A run of many steps in the built page in Chromium: agents with a tool call and a few words each. Prints, in
// milliseconds of CPU time, the main thread's work to open it and to open its conversation, and the longest task while
// its trace and its chat are scrolled from end to end.
//
//     PRISM_URL=- node benchmarks/page_trace.mjs STEPS
import { launch } from '../tests/web/browser.mjs';
import { sum, tasksOf } from './main_thread.mjs';
import { stand } from './page_stand.mjs';

const [count] = process.argv.slice(2).map(Number);
const NONE = { waits: [], keys: [], proofs: [], sources: [], classes: [], receipts: [], faults: [] };

/** Return the film of a run with so many steps: agents, each with tools of its own. */
function film(steps) {
  const [nodes, said, times] = [[], [], [0]];
  const tell = (is, marks) => said.push({ index: said.length, since: marks[0]?.[0] ?? times.length, is, marks });
  const node = (is) => {
    const since = times.length - 2; // of the three moments that were just noted
    const about = { path: '', lane: '', call: '', parent: '', depth: 0, step: 0, iteration: 1, derived: false, start: since * 1000, ...is };
    nodes.push({ index: nodes.length, since, is: about, marks: [[since + 2, { status: 'finished', end: (since + 2) * 1000, derived: false }]] });
  };
  tell({ kind: 'user', speaker: 'user', text: 'go' }, []);
  for (let step = 0; step < steps; step++) {
    const isAgent = step % 10 === 0;
    const name = isAgent ? `agent_${step / 10}` : `tool_${step % 7}`;
    times.push(times.length * 1000, times.length * 1000 + 1000, times.length * 1000 + 2000);
    node({ node: `n${step}`, name, kind: isAgent ? 'agent' : 'tool', call: isAgent ? '' : `c${step}`, parent: isAgent ? '' : `n${step - (step % 10)}` });
    const since = nodes.at(-1).since;
    if (isAgent) tell({ kind: 'text', speaker: name, node: `n${step}` }, [[since, `Word ${step}.`], [since + 1, null]]);
    else tell({ kind: 'call', speaker: 'agent', node: `n${step}`, call: `c${step}`, name, input: { number: step } }, [[since, { status: 'answered', output: { square: step * step } }]]);
  }
  const ended = { cursor: times.length, outcome: 'finished', code: '', completion: null };
  return { version: 1, after: 0, last: times.length, app: 'bench', user: 'user', session: 's', captured: false, uploaded: false, agents: [], start: 1e9, ended, times, items: { ...NONE, nodes, said } };
}

/** Return the conversation that the film is of, as the server sends it: a question, and an answer with all that was done. */
function conversation({ items }) {
  const about = ({ is }) => ({ adk: { author: is.speaker } });
  const parts = items.said.slice(1).map((item) =>
    item.is.kind === 'text'
      ? { type: 'text', text: item.marks[0][1], state: 'done', providerMetadata: about(item) }
      : { type: 'dynamic-tool', toolName: item.is.name, toolCallId: item.is.call, state: 'output-available', input: item.is.input, output: item.marks[0][1].output, callProviderMetadata: about(item) },
  );
  const question = { id: 'question', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  return [question, { id: 'long', role: 'assistant', metadata: { runId: 'long' }, parts }];
}

const scroll = (selector) => async (page) =>
  page.evaluate(async (selector) => {
    const list = document.querySelector(selector);
    for (let part = 0; part <= 60; part++) {
      list.scrollTop = (list.scrollHeight * (part % 31)) / 30;
      await new Promise((next) => requestAnimationFrame(() => setTimeout(next, 20)));
    }
  }, selector);

const long = film(count);
const server = await stand({ film: long, messages: conversation(long) });
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
await page.goto(server.url);
await page.locator('.card').first().waitFor(); // The code is loaded: what is measured is the run.

/** Return the page's tasks while it opens a place, after a small one of its kind. */
async function open(small, place) {
  await page.goto(`${server.url}/#${small}`);
  await page.locator('.tree').waitFor();
  await page.goto(`${server.url}/#/`);
  await page.waitForTimeout(500);
  return tasksOf(page, async () => {
    await page.goto(`${server.url}/#${place}`);
    await page.locator('[data-row="step"]').first().waitFor();
    await page.locator('.message').last().waitFor();
    await page.waitForTimeout(300);
  });
}

const opening = await open('/run/small', '/run/long');
const trace = await tasksOf(page, () => scroll('.tree')(page));
const chat = await tasksOf(page, () => scroll('.log')(page));
const talk = await open('/app/bench/small', '/app/bench/long');
const longest = (tasks) => Math.max(...tasks);
console.log(JSON.stringify({ open: sum(opening), conversation: sum(talk), longest: longest(opening), trace: longest(trace), chat: longest(chat) }));
await browser.close();
server.close();
