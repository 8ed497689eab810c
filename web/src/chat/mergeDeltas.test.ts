import type { UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { gather, joined } from './mergeDeltas';

const text = (delta: string, id = 't', more: object = {}) => ({ type: 'text-delta', id, delta, ...more }) as UIMessageChunk;

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
  await streamOf(chunks).pipeThrough(gather()).pipeTo(new WritableStream({ write: (chunk) => void found.push(chunk) }));
  return found;
}

test('pieces of one text become one, and its order with others stays', async () => {
  const end = { type: 'text-end', id: 't' } as UIMessageChunk;
  const found = await through([text('a'), text('b'), text('c'), text('x', 'other'), text('d'), end]);
  expect(found.map((chunk) => (chunk as { delta?: string }).delta ?? chunk.type)).toEqual(['a', 'bc', 'x', 'd', 'text-end']);
});

test('nothing is lost at the end, and nothing is made up', async () => {
  const pieces = Array.from({ length: 500 }, (_, index) => text(`${index} `));
  const found = await through(pieces);
  expect(found.map((chunk) => (chunk as { delta: string }).delta).join('')).toBe(pieces.map((chunk) => (chunk as { delta: string }).delta).join(''));
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
