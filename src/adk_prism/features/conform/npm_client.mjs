// Sends one prompt with the real npm client of a protocol, and prints what it does not like, as a JSON list.
//
//   stdin   {protocol, package, folder, url, headers, thread, prompt}
//   stdout  ["warning: …", "thrown: …"]
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const script = JSON.parse(await text(process.stdin));
const faults = [];
let failed = false; // by an error that the server reported as the protocol says
console.warn = (...words) => faults.push(`warning: ${words.join(' ')}`);
console.error = (...words) => faults.push(`error: ${words.join(' ')}`);

const found = createRequire(`${script.folder}/package.json`).resolve(script.package);
const client = await import(pathToFileURL(found).href);

const TALKS = {
  async 'ai-sdk'() {
    const { DefaultChatTransport, readUIMessageStream, safeValidateUIMessages } = client;
    const transport = new DefaultChatTransport({ api: script.url, headers: script.headers });
    const stream = await transport.sendMessages({
      chatId: script.thread,
      trigger: 'submit-message',
      messages: [{ id: `${script.thread}-1`, role: 'user', parts: [{ type: 'text', text: script.prompt }] }],
    });
    let message;
    const seen = stream.pipeThrough(new TransformStream({
      transform(chunk, controller) {
        failed ||= chunk.type === 'error';
        controller.enqueue(chunk);
      },
    }));
    for await (message of readUIMessageStream({ stream: seen, terminateOnError: true }));
    if (message === undefined && !failed) return faults.push('no message came');
    if (message === undefined || !message.parts.length) return;
    const verdict = await safeValidateUIMessages({ messages: [message] });
    if (!verdict.success) faults.push(`invalid message: ${verdict.error.message}`);
  },

  async 'ag-ui'() {
    const agent = new client.HttpAgent({ url: script.url, headers: script.headers, threadId: script.thread });
    agent.addMessage({ id: `${script.thread}-1`, role: 'user', content: script.prompt });
    let ended = false;
    await agent.runAgent({}, {
      onRunFinishedEvent() { ended = true; },
      onRunErrorEvent() { ended = failed = true; },
    });
    if (!ended) faults.push('the run did not end');
  },
};

try {
  await TALKS[script.protocol]();
} catch (error) {
  if (!failed) faults.push(`thrown: ${error?.message ?? error}`);
}
process.stdout.write(JSON.stringify(faults), () => process.exit(0));
