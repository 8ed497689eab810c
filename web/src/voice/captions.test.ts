/** What is told over the line becomes messages: in order, under the server's ids, each once. */
import { Captions } from '@adk-prism/client/live/captions';
import { waitingCalls } from '@adk-prism/client/sendWhenAnswered';
import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import type { Message } from '../chat/message';

/** A chat, and which message was said after each change. */
function chat() {
  const messages: Message[] = [];
  const said: string[] = [];
  const captions = new Captions({
    show(message) {
      const place = messages.findIndex((known) => known.id === message.id);
      if (place < 0) messages.push(message);
      else messages[place] = message;
    },
    find: (id) => messages.find((message) => message.id === id),
    onSaying: (id, waits) => said.push(waits ? `${id} waits ${waits}` : id),
  });
  captions.follow('run-1');
  const tell = async (...chunks: UIMessageChunk[]) => {
    for (const chunk of chunks) captions.take(chunk);
    await new Promise((done) => setTimeout(done)); // The SDK's reader has its own pace.
  };
  return { messages, said, captions, tell };
}

const heard = (id: string, text: string): UIMessageChunk => ({
  type: 'data-input-transcription',
  id,
  data: { text, final: false },
  transient: true,
});
const spoken = (text: string): UIMessageChunk[] => [
  { type: 'text-start', id: `t-${text}` },
  { type: 'text-delta', id: `t-${text}`, delta: text },
  { type: 'text-end', id: `t-${text}` },
];
const START: UIMessageChunk = { type: 'start', messageId: 'run-1-1', messageMetadata: { runId: 'run-1' } };

const texts = (messages: Message[]) =>
  messages.map(({ id, role, parts }) => [
    id,
    role,
    parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
  ]);

test('an utterance grows in its place, and its answer follows', async () => {
  const { messages, said, tell } = chat();
  await tell(
    heard('input-1', 'how'),
    heard('input-1', 'how are you'),
    START,
    ...spoken('Well.'),
    { type: 'finish' },
    heard('input-9', 'fine'),
  );
  expect(texts(messages)).toEqual([
    ['run-1-input-1', 'user', 'how are you'],
    ['run-1-1', 'assistant', 'Well.'],
    ['run-1-input-9', 'user', 'fine'],
  ]);
  expect([said[0], said.at(-1)]).toEqual(['run-1-1', '']);
});

test('what is said meanwhile does not end the message', async () => {
  const { messages, tell } = chat();
  await tell(START, ...spoken('One. '), heard('input-3', 'wait'), ...spoken('Two.'));
  expect(texts(messages)).toEqual([
    ['run-1-1', 'assistant', 'One. Two.'],
    ['run-1-input-3', 'user', 'wait'],
  ]);
});

test('an utterance without words is none', async () => {
  const { messages, tell } = chat();
  await tell(heard('input-1', ' '));
  expect(messages).toEqual([]);
});

test('tokens that are counted late are the message’s', async () => {
  const { messages, tell } = chat();
  await tell(START, ...spoken('Hi.'), { type: 'finish' });
  await tell({ type: 'data-usage', data: { messageId: 'run-1-1', usage: { totalTokens: 7 } }, transient: true });
  expect(messages[0]?.metadata?.usage?.totalTokens).toBe(7);
});

test('another run ends what the last one was saying', async () => {
  const { messages, said, captions, tell } = chat();
  await tell(START, ...spoken('One'));
  captions.follow('run-2');
  await tell(heard('input-1', 'again'));
  expect(said.at(-1)).toBe('');
  expect(texts(messages).map(([id]) => id)).toEqual(['run-1-1', 'run-2-input-1']);
});

test('calls that wait for the person are counted', async () => {
  const { messages, said, tell } = chat();
  const call = (id: string): UIMessageChunk => ({
    type: 'tool-input-available',
    toolCallId: id,
    toolName: 'pay',
    input: {},
    dynamic: true,
  });
  await tell(
    START,
    call('a'),
    call('b'),
    call('c'),
    { type: 'tool-approval-request', approvalId: 'ask-a', toolCallId: 'a' },
    { type: 'data-long-running', data: { toolCallId: 'b', toolName: 'pay' } },
  );
  expect(said.at(-1)).toBe('run-1-1 waits 2');
  await tell(
    { type: 'tool-approval-response', approvalId: 'ask-a', approved: true },
    { type: 'tool-output-available', toolCallId: 'b', output: 1 },
  );
  expect(messages[0] && waitingCalls(messages[0])).toBe(0);
});
