// Talks to a served agent with the real `HttpAgent`, as a worker (see worker.mjs).
//
//   request  {id, client: "ag-ui-client-0"|"ag-ui-client-1", url, thread, steps: [step, …]}
//   step     {say: text} | {answer: [{status, payload?}, …]} | {result: value, of: tool} | {again: true} | {connect: true}
//            each with tools?, state?
//   reply    {id, faults: [text], ended: [{error?, outcome?, thrown?}], messages, state, interrupts, fresh?}
//
// `answer` answers the open interrupts in their order, `result` every call of a tool, `again` posts the thread
// as it is up to the user's last message. `connect` opens the thread in an agent that knows nothing of it, and
// returns that agent's messages, state and interrupts as `fresh`.
import { serve } from './worker.mjs';

const clients = new Map();

async function load(name) {
  if (!clients.has(name)) clients.set(name, await import(name));
  return clients.get(name);
}

async function talk({ client, url, thread, steps }) {
  const { HttpAgent, runHttpRequest, transformHttpEventStream } = await load(client);
  class Agent extends HttpAgent {
    connect(input) {
      return transformHttpEventStream(runHttpRequest(() => this.fetch(`${url}/connect`, this.requestInit(input))));
    }
  }
  const faults = [];
  const ended = [];
  console.warn = (...words) => faults.push(`warning: ${words.join(' ')}`);
  const agent = new Agent({ url, threadId: thread });
  let fresh;
  for (const step of steps) {
    const last = {};
    const heard = {
      onRunErrorEvent: ({ event }) => { last.error = { code: event.code, message: event.message }; },
      onRunFinishedEvent: ({ event }) => { last.outcome = event.outcome; },
    };
    try {
      if (step.connect) {
        const other = new Agent({ url, threadId: thread });
        await other.connectAgent({}, heard);
        fresh = { messages: other.messages, state: other.state, interrupts: other.pendingInterrupts };
      } else {
        await agent.runAgent({ ...prepare(agent, step), ...(step.tools ? { tools: step.tools } : {}) }, heard);
      }
    } catch (error) {
      last.thrown = String(error?.message ?? error);
    }
    ended.push(last);
  }
  return { faults, ended, messages: agent.messages, state: agent.state, interrupts: agent.pendingInterrupts, fresh };
}

let count = 0;
const name = () => `own-${(count += 1)}`;

/** Do to the agent what the step says; return the parameters of its run. */
function prepare(agent, step) {
  if (step.state) agent.setState({ ...agent.state, ...step.state });
  if (step.say !== undefined) agent.addMessage({ id: name(), role: 'user', content: step.say });
  if (step.answer) {
    return { resume: agent.pendingInterrupts.map((each, at) => ({ interruptId: each.id, ...step.answer[at] })) };
  }
  if (step.result !== undefined) {
    const answered = new Set(agent.messages.filter(m => m.role === 'tool').map(m => m.toolCallId));
    const made = agent.messages.flatMap(m => m.toolCalls ?? []);
    const calls = made.filter(call => call.function.name === step.of && !answered.has(call.id));
    const content = JSON.stringify(step.result);
    for (const call of calls) agent.addMessage({ id: name(), role: 'tool', toolCallId: call.id, content });
  }
  if (step.again) agent.setMessages(agent.messages.slice(0, agent.messages.findLastIndex(m => m.role === 'user') + 1));
  return {};
}

// One at a time: the client warns through the console, which belongs to nobody.
let turn = Promise.resolve();
await serve(request => (turn = turn.then(() => talk(request), () => talk(request))));
