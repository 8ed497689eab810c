// A chat in a terminal: node chat.mjs [SERVER] [APP] [CHAT]. Ctrl-C stops the answer; at the prompt, the program.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { getToolName, isToolUIPart, readUIMessageStream } from 'ai';
import { loadMessages, PrismChatTransport, sendWhenAnswered } from '@adk-prism/client/ai';

const [server = 'http://127.0.0.1:8000', app = 'tour', chatId = randomUUID()] = process.argv.slice(2);
const transport = new PrismChatTransport({ server, app });
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();
let answering;
process.on('SIGINT', () => (answering ? answering.abort() : process.exit()));

async function ask(question) {
  process.stdout.write(question);
  return (await lines.next()).value;
}

const textOf = (message) => message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');

/** Send the last message, show the answer as it comes, and go on with what it asks. Return the messages. */
async function answer(messages) {
  const continued = messages.at(-1).role === 'assistant' ? messages.at(-1) : undefined;
  const { signal: abortSignal } = (answering = new AbortController());
  const stream = await transport.sendMessages({ chatId, messages, trigger: 'submit-message', messageId: undefined, abortSignal });
  let message = continued;
  let shown = continued ? textOf(continued).length : 0;
  for await (message of readUIMessageStream({ stream, message: continued, terminateOnError: true })) {
    process.stdout.write(textOf(message).slice(shown));
    shown = textOf(message).length;
  }
  answering = undefined;
  process.stdout.write('\n');
  for (const part of message.parts) if (isToolUIPart(part)) await handle(part);
  const all = [...(continued ? messages.slice(0, -1) : messages), message];
  return sendWhenAnswered({ messages: all }) ? answer(all) : all;
}

/** Decide an approval, and run the tool that is ours. */
async function handle(part) {
  if (part.state === 'approval-requested') {
    const isYes = /^y/i.test((await ask(`Allow ${getToolName(part)} ${JSON.stringify(part.input)}? (y/n) `)) ?? '');
    Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: isYes } });
  } else if (part.state === 'input-available' && getToolName(part) === 'get_location') {
    Object.assign(part, { state: 'output-available', output: { city: 'Lisbon' } });
  }
}

let messages = await loadMessages({ server, app }, chatId);
for (let text = await ask('> '); text !== undefined; text = await ask('> ')) {
  try {
    messages = await answer([...messages, { id: randomUUID(), role: 'user', parts: [{ type: 'text', text }] }]);
  } catch (error) {
    console.log(error.name === 'AbortError' ? '\nStopped.' : `\n${error.message}`);
    answering = undefined;
    messages = await loadMessages({ server, app }, chatId);
  }
}
