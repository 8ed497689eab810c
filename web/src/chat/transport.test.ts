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

const stub = { ...assistant, parts: [] };

test('only the message in question is sent, and which one is before it', () => {
  const sent = (messages: { id: string; role: string }[], trigger: string, messageId?: string) => sendBody({ chatId: 's', messages, trigger, messageId });
  expect(sent([user, assistant, user], 'submit-message').messages).toEqual([stub, user]);
  expect(sent([user, assistant, user], 'submit-message', 'a').messages).toEqual([{ ...user, parts: [] }, assistant]);
  expect(sent([], 'regenerate-message').messages).toEqual([]);
  expect(sent([user], 'submit-message').messages).toEqual([user]);
});

test('a branch is named if the page has shown what it leaves out', () => {
  const parent = (messages: { id: string; role: string }[], shown?: string) => {
    const body = sendBody({ chatId: 's', messages, trigger: 'submit-message', messageId: undefined }, shown);
    return 'parentId' in body ? body.parentId : 'not named';
  };
  expect(parent([user, assistant, user])).toBe('not named');
  expect(parent([user, assistant, user], 'a')).toBe('not named');
  expect(parent([user, assistant, user], 'a2')).toBe('a');
  expect(parent([user], 'a2')).toBe(null);
  expect(parent([user])).toBe('not named');
});
