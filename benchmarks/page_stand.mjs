// A stand-in for the server: it serves the files of the built page, and a chat whose answers come at a steady pace.
// Their words are synthetic, their film is one of the golden films. PRISM_PAGE names the folder of another build.
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '..');
const PAGE = process.env.PRISM_PAGE ?? path.join(ROOT, 'src', 'adk_prism', 'web', 'dist');
const FILM = path.join(ROOT, 'tests', 'features', 'page', 'films', 'state.json');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const APP = { name: 'bench', description: '', agents: ['bench'], models: [], offline: true, bundled: false, prompts: [] };
const SMALL = [
  { id: 'question', role: 'user', parts: [{ type: 'text', text: 'go' }] },
  { id: 'small', role: 'assistant', metadata: { runId: 'small' }, parts: [{ type: 'text', text: 'Done.', state: 'done' }] },
];
const PLAIN = '<!doctype html><div id="log" style="height:600px;width:780px;overflow:auto;white-space:pre-wrap"></div>';

const PARAGRAPH = 'the prism bends **each** colour by its `own` angle and so the colours part on the wall. '.repeat(4);
const SECTION = `## A section\n\n${PARAGRAPH}\n\n- one *point*\n- another, with a [link](https://example.org)\n\n| colour | angle |\n| --- | --- |\n| red | 1.1 |\n\n\`\`\`python\nprint('part')\n\`\`\`\n\n`;
const WORDS = SECTION.split(/(?<= )/);

async function answer(response, { tokens, pace, run }) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (chunk) => response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  send({ type: 'start', messageId: `m-${run}`, messageMetadata: { runId: `run-${run}` } });
  for (const chunk of [{ type: 'start-step' }, { type: 'text-start', id: 't' }]) send(chunk);
  const began = performance.now();
  for (let sent = 0; sent < tokens; ) {
    const due = Math.min(tokens, Math.ceil(((performance.now() - began) / 1000) * pace));
    for (; sent < due; sent++) send({ type: 'text-delta', id: 't', delta: WORDS[sent % WORDS.length] });
    await new Promise((next) => setTimeout(next, 5));
  }
  for (const chunk of [{ type: 'text-end', id: 't' }, { type: 'finish-step' }, { type: 'finish', finishReason: 'stop', messageMetadata: { usage: {} } }]) send(chunk);
  response.end('data: [DONE]\n\n');
}

/** Return entries of a list of conversations, newest first. */
export function conversations(count) {
  return Array.from({ length: count }, (_, number) => ({
    ...{ app: 'bench', user: 'user', session: `s${number}`, title: `Talk ${number}`, said: `first words of talk ${number}`, pinned: number < 2 },
    ...{ started: 1e9, active: 1e9 - number, runs: 1, run: `r${number}`, outcome: 'finished', uploaded: false, recorded: true },
  }));
}

/**
 * Serve; `speech` says how many tokens an answer has, and how many come in a second; `listed` are the conversations;
 * `film` is that of the run called `long`, and `messages` are those of the conversation of that name.
 */
export async function stand({ listed = [], film = null, messages = [], ...speech }) {
  const { document } = JSON.parse(await readFile(FILM, 'utf-8'));
  let runs = 0;
  const json = (response, value) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  const routes = [
    [/^\/api\/apps$/, (response) => json(response, [APP])],
    [/^\/api\/conversations$/, (response, _, limit) => json(response, listed.slice(0, limit))],
    [/^\/api\/chat\/bench$/, (response) => answer(response, { ...speech, run: ++runs })],
    [/^\/api\/chat\/bench\/([^/]+)\/messages$/, (response, name) => json(response, name === 'long' ? messages : SMALL)],
    [/^\/api\/chat\/bench\/[^/]+\/stream$/, (response) => response.writeHead(204).end()],
    [/^\/api\/runs$/, (response) => json(response, [{}])],
    [/^\/api\/runs\/([^/]+)\/film$/, (response, run) => json(response, { ...(run === 'long' ? film : document), run })],
    [/^\/plain$/, (response) => response.setHeader('content-type', 'text/html').end(PLAIN)],
  ];
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://server');
    for (const [pattern, act] of routes) {
      const match = pattern.exec(pathname);
      if (match) return act(response, match[1], Number(searchParams.get('limit')));
    }
    const file = path.join(PAGE, pathname === '/' ? 'index.html' : path.normalize(pathname));
    try {
      response.setHeader('content-type', TYPES[path.extname(file)] ?? 'text/plain').end(await readFile(file));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Say something in a new chat, and wait until it is answered. */
export async function ask(page) {
  await page.getByRole('navigation').getByRole('button', { name: 'bench', exact: true }).click();
  await page.getByText('New chat with bench').waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('go');
  await page.keyboard.press('Enter');
  await page.locator('.message-foot').waitFor({ timeout: 0 });
}
