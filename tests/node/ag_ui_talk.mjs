// Talks to a served agent as an AG-UI client does, as a worker (see worker.mjs).
//
//   request  {id, client: "ag-ui-client-0"|"ag-ui-client-1", url, thread, prompts: [text, …]}
//   reply    {id, faults: [text], ended: ["success", "interrupt", "error CODE", …], messages}
//
// Interrupts are answered as their schema asks: approved, with the payload that was shown, or with a value
// of the wanted type. A run that only repeats its question ends the conversation. Whatever the client throws
// or warns of is a fault.
import { serve } from './worker.mjs';

const MOST_ANSWERS = 4;

function answer({ id, reason, metadata, responseSchema }) {
  const payload = metadata?.adk?.payload;
  const approval = { approved: true, ...(payload === undefined ? {} : { payload }) };
  return { interruptId: id, status: 'resolved', payload: reason === 'tool_call' ? approval : sample(responseSchema) };
}

function sample({ type, properties = {}, required = Object.keys(properties) } = {}) {
  const simple = { boolean: true, integer: 2, number: 2, array: [] };
  if (type !== 'object') return simple[type] ?? 'blue';
  return Object.fromEntries(required.map(key => [key, sample(properties[key])]));
}

async function talk({ client, url, thread, prompts }) {
  const { HttpAgent } = await import(client);
  const faults = [];
  const ended = [];
  console.warn = (...words) => faults.push(`warning: ${words.join(' ')}`);
  const agent = new HttpAgent({ url, threadId: thread });
  for (const [number, content] of prompts.entries()) {
    agent.addMessage({ id: `user-${number}`, role: 'user', content });
    for (let turn = 0; turn <= MOST_ANSWERS && faults.length === 0; turn++) {
      const resume = agent.pendingInterrupts.map(answer);
      if (turn > 0 && resume.length === 0) break;
      ended.push(await run(agent, resume, faults));
    }
  }
  return { faults, ended, messages: agent.messages };
}

async function run(agent, resume, faults) {
  let last = 'nothing';
  try {
    await agent.runAgent(resume.length ? { resume } : {}, {
      onRunErrorEvent: ({ event }) => { last = `error ${event.code}`; },
      onRunFinishedEvent: ({ event }) => { last = event.outcome.type; },
    });
  } catch (error) {
    faults.push(`thrown: ${error?.message ?? error}`);
  }
  return last;
}

// One at a time: the client warns through the console, which belongs to nobody.
let turn = Promise.resolve();
await serve(request => (turn = turn.then(() => talk(request), () => talk(request))));
