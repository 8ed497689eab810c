// Reads AG-UI streams with the real client, as a worker (see worker.mjs).
//
//   request  {id, client: "ag-ui-client-0"|"ag-ui-client-1", runs: [<SSE text>, …], piece?}
//   reply    {id, faults: [text], ended: [{error?, outcome?}], messages, state, interrupts}
//
// One `HttpAgent` gets the runs one after the other, as responses to its own requests: its parser, its schema,
// its verifier and its reducer do the rest. Open interrupts are answered with `approved: true`, since the
// client sends nothing else while one is open. `piece` is how many bytes come at a time.
// Whatever the client throws or warns of is a fault: it warns of what it drops.
import { serve } from './worker.mjs';

const clients = new Map();

async function load(name) {
  if (!clients.has(name)) clients.set(name, await import(name));
  return clients.get(name);
}

async function read({ client, runs, piece = 4096 }) {
  const { HttpAgent } = await load(client);
  const faults = [];
  const ended = [];
  const bodies = [...runs];
  const agent = new HttpAgent({
    url: 'http://localhost/', threadId: 'session', fetch: async () => response(bodies.shift(), piece),
  });
  console.warn = (...words) => faults.push(`warning: ${words.join(' ')}`);
  for (const _ of runs) {
    const last = {};
    const resume = agent.pendingInterrupts.map(each => (
      { interruptId: each.id, status: 'resolved', payload: { approved: true } }));
    try {
      await agent.runAgent(resume.length ? { resume } : {}, {
        onRunErrorEvent: ({ event }) => { last.error = { code: event.code, message: event.message }; },
        onRunFinishedEvent: ({ event }) => { last.outcome = event.outcome; },
      });
    } catch (error) {
      faults.push(`thrown: ${error?.message ?? error}`);
    }
    ended.push(last);
  }
  return { faults, ended, messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts };
}

function response(text, piece) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at += piece));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

// One at a time: the client warns through the console, which belongs to nobody.
let turn = Promise.resolve();
await serve(request => (turn = turn.then(() => read(request), () => read(request))));
