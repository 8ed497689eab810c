import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import type { Message } from './message';
import { sendBody } from './requests';
import { wholeOrLost } from './transport';

const TEXT: UIMessageChunk[] = [{ type: 'start', messageId: 'm' }, { type: 'start-step' }];

async function read(chunks: UIMessageChunk[]): Promise<number> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(chunk));
      controller.close();
    },
  });
  let count = 0;
  for await (const _ of stream.pipeThrough(wholeOrLost())) count += 1;
  return count;
}

test.each<UIMessageChunk>([{ type: 'finish' }, { type: 'abort' }, { type: 'error', errorText: 'no' }])('a stream with %j is whole', async (end) => {
  expect(await read([...TEXT, end])).toBe(3);
});

test('a stream that just stops is a lost connection', async () => {
  await expect(read(TEXT)).rejects.toThrow(TypeError);
});

const WHERE = { app: 'tour', session: 's', user: 'user' };
const user: Message = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const assistant: Message = { id: 'a', role: 'assistant', parts: [] };

test('only the message in question is sent', () => {
  expect(sendBody(WHERE, [user, assistant, user], 'submit-message', undefined).messages).toEqual([user]);
  expect(sendBody(WHERE, [user, assistant, user], 'submit-message', 'a').messages).toEqual([assistant]);
  expect(sendBody(WHERE, [], 'regenerate-message', undefined).messages).toEqual([]);
  expect(sendBody(WHERE, [user, assistant, user], 'submit-message', undefined).parentId).toBe(assistant.id);
  expect(sendBody(WHERE, [user], 'submit-message', undefined).parentId).toBeUndefined();
});
