import { ConnectionError, PrismError } from '@adk-prism/client';
import { sendBody } from '@adk-prism/client/ai';
import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { isLost, wholeOrLost, gather, joined } from './transport';

const text = (delta: string, id = 't', more: object = {}) =>
  ({ type: 'text-delta', id, delta, ...more }) as UIMessageChunk;

function streamOf(chunks: readonly UIMessageChunk[]): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function through(chunks: readonly UIMessageChunk[]): Promise<UIMessageChunk[]> {
  const found: UIMessageChunk[] = [];
  await streamOf(chunks)
    .pipeThrough(gather())
    .pipeTo(new WritableStream({ write: (chunk) => void found.push(chunk) }));
  return found;
}

test('pieces of one text become one, and its order with others stays', async () => {
  const end = { type: 'text-end', id: 't' } as UIMessageChunk;
  const found = await through([text('a'), text('b'), text('c'), text('x', 'other'), text('d'), end]);
  expect(found.map((chunk) => (chunk as { delta?: string }).delta ?? chunk.type)).toEqual([
    'a',
    'bc',
    'x',
    'd',
    'text-end',
  ]);
});

test('nothing is lost at the end, and nothing is made up', async () => {
  const pieces = Array.from({ length: 500 }, (_, index) => text(`${index} `));
  const found = await through(pieces);
  expect(found.map((chunk) => (chunk as { delta: string }).delta).join('')).toBe(
    pieces.map((chunk) => (chunk as { delta: string }).delta).join(''),
  );
  expect(found.length).toBeLessThan(50);
  expect(await through([])).toEqual([]);
});

test('what is held goes on with the next frame, though nothing comes after it', async () => {
  const { readable, writable } = gather();
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  for (const piece of ['a', 'b', 'c']) void writer.write(text(piece));
  expect((await reader.read()).value).toMatchObject({ delta: 'a' });
  expect((await reader.read()).value).toMatchObject({ delta: 'bc' });
  void writer.close();
  expect((await reader.read()).done).toBe(true);
});

test('a reader who leaves is not told any more', async () => {
  const { readable, writable } = gather();
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  for (const piece of ['a', 'b']) void writer.write(text(piece)).catch(() => {});
  await reader.read();
  await reader.cancel();
  await new Promise((later) => setTimeout(later, 40)); // What is held would be let go of now.
});

test.each([
  [text('a'), text('b'), 'ab'],
  [text('a'), text('b', 'u'), null],
  [text('a'), text('b', 't', { providerMetadata: { adk: {} } }), null],
  [{ type: 'finish' } as UIMessageChunk, { type: 'finish' } as UIMessageChunk, null],
])('%j and %j', (before, after, both) => {
  expect((joined(before, after) as { delta?: string } | null)?.delta ?? null).toBe(both);
});

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
  const sent = (messages: { id: string; role: string }[], trigger: string, messageId?: string) =>
    sendBody({ chatId: 's', messages, trigger, messageId });
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
