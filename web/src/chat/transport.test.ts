import { ConnectionError, PrismError } from '@adk-prism/client';
import { sendBody } from '@adk-prism/client/ai';
import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { isLost, wholeOrLost } from './transport';

const CHUNKS: UIMessageChunk[] = [{ type: 'start', messageId: 'm' }, { type: 'start-step' }];

/** A stream of the package's transport, which fails in the end where a reason is given. */
function streamed(failure?: Error): ReadableStream<UIMessageChunk> {
  const left = [...CHUNKS];
  return new ReadableStream({
    pull(controller) {
      const chunk = left.shift();
      if (chunk) controller.enqueue(chunk);
      else if (failure) controller.error(failure);
      else controller.close();
    },
  });
}

async function read(failure?: Error): Promise<number> {
  let count = 0;
  for await (const _ of wholeOrLost(streamed(failure))) count += 1;
  return count;
}

test('a stream that ends is whole', async () => {
  expect(await read()).toBe(CHUNKS.length);
});

test('a stream that cannot be gone on with is a lost connection', async () => {
  const failed = read(new PrismError('The run does not exist.', { status: 404, url: '' }));
  await expect(failed).rejects.toSatisfy(isLost);
  await expect(read(new ConnectionError(''))).rejects.toSatisfy(isLost);
});

test('a stream that was left is not', async () => {
  await expect(read(new DOMException('left', 'AbortError'))).rejects.not.toSatisfy(isLost);
});

const user = { id: 'u', role: 'user' };
const assistant = { id: 'a', role: 'assistant' };

test('only the message in question is sent', () => {
  const sent = (messages: { id: string; role: string }[], trigger: string, messageId?: string) => sendBody({ chatId: 's', messages, trigger, messageId });
  expect(sent([user, assistant, user], 'submit-message').messages).toEqual([user]);
  expect(sent([user, assistant, user], 'submit-message', 'a').messages).toEqual([assistant]);
  expect(sent([], 'regenerate-message').messages).toEqual([]);
  expect(sent([user, assistant, user], 'submit-message').parentId).toBe(assistant.id);
  expect(sent([user], 'submit-message').parentId).toBeUndefined();
});
