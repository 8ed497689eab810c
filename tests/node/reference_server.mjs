// Serves the AI SDK's own answers (`streamText` with a mock model), for the checks of other servers.
//
//   node reference_server.mjs ai-6|ai-7     prints the port that it listens on
//
// A prompt with "tool" calls one, "approval" one that has to be approved, "error" fails.
import { createServer } from 'node:http';

const [name] = process.argv.slice(2);
const sdk = await import(name);
const test = await import(`${name}/test`);
const Model = test.MockLanguageModelV4 ?? test.MockLanguageModelV3;

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = unified => ({ type: 'finish', finishReason: { unified, raw: unified }, usage });
const SAID = [
  { type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'Hello' }, { type: 'text-end', id: 't' },
  finish('stop'),
];
const CALLED = [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' }, finish('tool-calls')];

let count = 0;

async function answer(messages, response) {
  const last = messages.at(-1);
  const text = last.role === 'user' ? last.parts[0].text : '';
  let turns = 0;
  const model = new Model({
    async doStream() {
      if (text === 'error') throw new Error('It failed');
      const chunks = ['tool', 'approval'].includes(text) && turns++ === 0 ? CALLED : SAID;
      return { stream: sdk.simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ...chunks] }) };
    },
  });
  const look = sdk.tool({
    inputSchema: sdk.jsonSchema({ type: 'object' }),
    execute: async () => ({ ok: true }),
    needsApproval: text === 'approval',
  });
  const result = sdk.streamText({
    model,
    messages: await sdk.convertToModelMessages(messages),
    tools: { look },
    stopWhen: (sdk.isStepCount ?? sdk.stepCountIs)(3),
    onError() {},
  });
  result.pipeUIMessageStreamToResponse(response, {
    originalMessages: messages, generateMessageId: () => `m${(count += 1)}`,
  });
}

const server = createServer(async (request, response) => {
  const refuse = status => response.writeHead(status).end();
  if (request.method !== 'POST') return refuse(405);
  if (request.headers['content-type'] !== 'application/json') return refuse(415);
  try {
    let text = '';
    for await (const piece of request) text += piece;
    await answer(JSON.parse(text).messages, response);
  } catch {
    refuse(400);
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
