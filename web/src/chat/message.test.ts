import { Chat } from '@ai-sdk/react';
import type { ChatTransport, UIMessageChunk } from 'ai';
import { expect, test } from 'vitest';
import { textOf, type Message, copyMessages } from './message';

test('what was drawn stays as it was, though the SDK writes into the message it has added', async () => {
  let stream!: ReadableStreamDefaultController<UIMessageChunk>;
  const body = new ReadableStream<UIMessageChunk>({ start: (controller) => void (stream = controller) });
  const transport: ChatTransport<Message> = { sendMessages: async () => body, reconnectToStream: async () => body };
  const chat = new Chat<Message>({ transport, messages: [] });
  const drawn: (readonly Message[])[] = [];
  const draw = chat['~registerMessagesCallback'](() => drawn.push(copyMessages(chat.messages)));
  const resumed = chat.resumeStream();
  for (const chunk of [
    { type: 'start', messageId: 'm' },
    { type: 'text-start', id: 't' },
  ] as const)
    stream.enqueue(chunk);
  const words = ['one ', 'two ', 'three'];
  for (const delta of words) stream.enqueue({ type: 'text-delta', id: 't', delta });
  stream.enqueue({ type: 'finish' });
  stream.close();
  await resumed;
  draw();
  const texts = drawn.map((messages) => messages.map(textOf).join());
  expect(new Set(texts)).toEqual(new Set(['', 'one ', 'one two ', 'one two three']));
  expect(drawn[0]?.at(-1)?.parts).toEqual([]);
});

test('what is older is not copied', () => {
  const [old, last] = ['a', 'b'].map((id): Message => ({ id, role: 'user', parts: [{ type: 'text', text: id }] }));
  const copied = copyMessages([old!, last!]);
  expect(copied[0]).toBe(old);
  expect(copied[1]).toEqual(last);
  expect(copied[1]?.parts[0]).not.toBe(last?.parts[0]);
  expect(copyMessages([])).toEqual([]);
});
