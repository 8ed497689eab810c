/** The package's hook in a real React: suggestions belong to the last answer, and go with the next message. */
import { useSuggestions } from '@adk-prism/client/react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';

const ANSWERS: Record<string, Response> = {};

function answerOf(messageId: string, suggestions: string[]): Response {
  return Response.json({ runId: messageId, messageId, suggestions, title: null });
}

const connection = {
  server: 'http://prism.test',
  app: 'tour',
  fetch: async (url: RequestInfo | URL) => ANSWERS[String(url)] ?? new Response(null, { status: 204 }),
};

function Shown({ chat, answer }: { chat: string; answer: string | null }) {
  return <p>{useSuggestions(connection, chat, answer).join(', ')}</p>;
}

test('those of the last answer are shown while it is the last', async () => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  const address = (chat: string) => `http://prism.test/api/chat/tour/${chat}/suggestions`;
  ANSWERS[address('a')] = answerOf('m1', ['And then?', 'Why?']);
  ANSWERS[address('b')] = answerOf('m9', ['Late']);
  ANSWERS[address('c')] = new Response('no', { status: 500 });
  const host = document.createElement('div');
  const root = createRoot(host);
  const show = async (chat: string, answer: string | null) => {
    await act(async () => root.render(<Shown chat={chat} answer={answer} />));
    return host.textContent;
  };
  expect(await show('a', null)).toBe('');
  expect(await show('a', 'm1')).toBe('And then?, Why?');
  expect(await show('a', null)).toBe('');
  expect(await show('a', 'm2')).toBe('');
  expect(await show('b', 'm1')).toBe(''); // of an answer that is not shown
  expect(await show('c', 'm1')).toBe('');
  await act(async () => root.unmount());
});
