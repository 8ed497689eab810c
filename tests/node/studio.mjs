// The Studio client under test, driven by JSON lines (see worker.mjs). Node strips its types itself.
//
//   {op: 'reduce', stream, cuts, options}    bytes (base64) through the parser and the reducer
//   {op: 'play', base, steps, options, cuts} a real server; each response is broken off after so many bytes
//   {op: 'listen', url}                      a real EventSource, until it is closed
import { EventSource } from 'undici';
import { INITIAL, SseParser, StudioClient, listen, reduce } from '../../packages/client/src/studio-client.ts';
import { serve } from './worker.mjs';

const OPERATIONS = { reduce: reduceAll, play, listen: hear };

await serve((request) => OPERATIONS[request.op](request));

function reduceAll({ stream, cuts = [], options = {} }) {
  const bytes = Buffer.from(stream, 'base64');
  const parser = new SseParser();
  const ends = [...cuts, bytes.length];
  let state = INITIAL;
  let events = [];
  let begin = 0;
  for (const end of ends) {
    for (const event of parser.push(bytes.subarray(begin, end))) {
      events.push(event);
      state = reduce(state, event, options);
    }
    begin = end;
  }
  return { state: plain(state), events };
}

async function play({ base, steps, options = {}, cuts = [] }) {
  const requests = [];
  const client = new StudioClient(base, { retry: 1, ...options, fetch: cutting(cuts, requests) });
  const statuses = [];
  client.subscribe(() => {
    if (statuses.at(-1) !== client.getState().status) statuses.push(client.getState().status);
  });
  for (const step of steps) {
    if (step.send !== undefined) await client.send(step.send);
    if (step.seek !== undefined) client.seek(step.seek);
    if (step.approve !== undefined) await client.answer(decisions(client.getState(), step.approve));
  }
  return { state: plain(client.getState()), statuses, requests };
}

function decisions(state, approved) {
  return state.interrupts.map(({ data }) => ({ id: data.id, call: data.call, approved }));
}

/** Return a fetch whose answers end after `cuts` bytes each, as if the connection was lost. */
function cutting(cuts, requests) {
  const left = [...cuts];
  return async (url, init) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    requests.push({ method: init.method ?? 'GET', last: headers['last-event-id'] ?? '' });
    const cut = left.shift();
    if (cut === 0) throw new TypeError('connection refused');
    const response = await fetch(url, init);
    if (cut === undefined || response.body === null) return response;
    return new Response(response.body.pipeThrough(breakAfter(cut)), response);
  };
}

function breakAfter(most) {
  let seen = 0;
  return new TransformStream({
    transform(piece, controller) {
      controller.enqueue(piece.subarray(0, Math.max(0, most - seen)));
      seen += piece.length;
      if (seen > most) controller.error(new TypeError('connection lost'));
    },
  });
}

async function hear({ url }) {
  const events = [];
  const source = new EventSource(url);
  await new Promise((resolve) => {
    listen(source, (event) => {
      events.push(event);
      if (event.event === 'end' || event.event === 'error') resolve();
    });
  });
  return { events, closed: source.readyState === EventSource.CLOSED };
}

function plain(state) {
  return { ...state, stateKeys: Object.fromEntries(state.stateKeys), flows: Object.fromEntries(state.flows) };
}
