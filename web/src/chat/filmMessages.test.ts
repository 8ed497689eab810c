import { expect, test } from 'vitest';
import type { Said } from '../film/conversation';
import { chatAt, conversationAt } from '../film/conversation';
import { golden } from '../film/testFilms';
import { endOf } from '../film/timeline';
import { messagesOf } from './filmMessages';

const SAID: Said[] = [
  { kind: 'user', since: 1, text: 'hi' },
  { kind: 'reasoning', since: 2, speaker: 'a', text: 'hm', complete: true },
  { kind: 'call', since: 3, call: 'c', name: 'look', input: {}, status: 'answered', output: { x: 1 } },
  { kind: 'text', since: 4, speaker: 'b', text: 'wor', complete: false },
  { kind: 'never heard of', since: 5, odd: true },
  { kind: 'end', since: 6, outcome: 'finished' },
];

test('what was said becomes messages of the same parts', () => {
  const messages = messagesOf({ run: 'run-1', said: SAID });
  expect(messages.map((message) => message.role)).toEqual(['user', 'assistant']);
  expect(messages[1]?.parts.map((part) => part.type)).toEqual([
    'reasoning',
    'dynamic-tool',
    'text',
    'data-unrecognised',
  ]);
  expect(messages[1]?.parts[2]).toMatchObject({ text: 'wor', state: 'streaming' });
});

test.each([
  ['requested', 'input-available'],
  ['answered', 'output-available'],
  ['failed', 'output-error'],
  ['denied', 'output-denied'],
  ['abandoned', 'output-error'],
  ['awaiting approval', 'approval-requested'],
])('a call that is %s', (status, state) => {
  const [message] = messagesOf({
    run: 'run-1',
    said: [{ kind: 'call', since: 1, call: 'c', name: 'n', input: {}, status }],
  });
  expect(message?.parts[0]).toMatchObject({ state });
});

test('an answer in a later run belongs to the call of the earlier one', () => {
  const asked: Said = {
    kind: 'call',
    since: 3,
    call: 'c',
    name: 'send',
    input: { to: 'Ada' },
    speaker: 'a',
    status: 'awaiting approval',
    approval: 'x',
  };
  const given: Said = {
    kind: 'call',
    since: 2,
    call: 'c',
    name: 'send',
    earlier: true,
    status: 'answered',
    output: { sent: true },
  };
  const said: Said = { kind: 'text', since: 4, speaker: 'a', text: 'Sent.', complete: true };
  const [message, ...more] = messagesOf({ run: 'run-1', said: [asked] }, { run: 'run-2', said: [given, said] });
  expect(more).toEqual([]);
  expect(message?.parts).toMatchObject([
    { state: 'output-available', input: { to: 'Ada' }, output: { sent: true } },
    { text: 'Sent.' },
  ]);
  const again = messagesOf({ run: 'run-1', said: [asked] }, { run: 'run-2', said: [given, said] });
  expect(again[0]?.parts[0]).toBe(message?.parts[0]); // so that it is not drawn again
  const [alone] = messagesOf({ run: 'run-2', said: [given] });
  expect(alone?.parts).toMatchObject([{ state: 'output-available', toolName: 'send' }]);
});

test('what was said inside of tools says so', () => {
  const said: Said[] = [
    { kind: 'call', since: 1, call: 'outer', name: 'ask', input: {}, status: 'requested' },
    { kind: 'text', since: 3, speaker: 'b', text: 'deep', complete: true, within: 'outer' },
  ];
  const [message] = messagesOf({ run: 'run-1', said });
  expect(message?.parts[1]).toMatchObject({ providerMetadata: { adk: { author: 'b', within: 'outer' } } });
});

test('what an answer rests on is in its message, up to the moment that is shown', () => {
  const film = golden('sources');
  const partsAt = (at: number) =>
    messagesOf({ run: film.run, said: conversationAt(film, at), film, at }).flatMap(({ parts }) => parts);
  const sources = partsAt(film.last).filter((part) => part.type.startsWith('source-'));
  expect(sources.length).toBe(film.items.sources.length);
  expect(sources.length).toBeGreaterThan(0);
  const before = Math.min(...film.items.sources.map(({ since }) => since)) - 1;
  expect(partsAt(before).filter((part) => part.type.startsWith('source-'))).toEqual([]);
  const proofs = partsAt(film.last).filter((part) => part.type === 'data-proof');
  expect(proofs.length).toBe(film.items.proofs.filter(({ marks }) => marks.at(-1)?.[1].subject).length);
});

test('whoever speaks up interrupts the answer before', () => {
  const messages = messagesOf({
    run: 'run-1',
    said: [
      { kind: 'user', since: 1, text: 'a story' },
      { kind: 'transcript', since: 2, speaker: 'a', text: 'Once', complete: true },
      { kind: 'user', since: 3, text: 'stop', spoken: true },
      { kind: 'interrupted', since: 4, speaker: 'a' },
      { kind: 'transcript', since: 5, speaker: 'a', text: 'Yes?', complete: true },
    ],
  });
  expect(messages.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
    ['text'],
    ['text', 'data-interrupted'],
    ['text'],
    ['text'],
  ]);
});

test('an answer knows what its words rest on, of several calls, and why it stopped', () => {
  const grounding = (uri: string, indices: unknown): Said => ({
    kind: 'grounding',
    since: 2,
    grounding: {
      groundingChunks: [{ web: { uri } }],
      groundingSupports: [{ segment: { text: uri }, groundingChunkIndices: indices as never }],
    },
  });
  const [, answer] = messagesOf({
    run: 'run-1',
    said: [
      { kind: 'user', since: 1, text: 'hi' },
      { kind: 'text', since: 2, speaker: 'a', text: 'a b', complete: true },
      grounding('a', [0]),
      grounding('b', [0]),
      { kind: 'grounding', since: 2, grounding: { groundingChunks: 'none', groundingSupports: [null] } },
      { kind: 'citations', since: 2, citations: { citations: [{ uri: 'https://c' }] } },
      { kind: 'citations', since: 2, citations: 'none' },
      { kind: 'finish', since: 3, reason: 'SAFETY', text: 'Withheld.' },
    ],
  });
  const { grounding: joined, citations, adkFinishReason, finishMessage } = answer!.metadata!;
  expect(joined?.groundingSupports?.map((support) => support?.groundingChunkIndices)).toEqual([[0], [1], []]);
  expect(citations).toEqual([{ uri: 'https://c' }]);
  expect([adkFinishReason, finishMessage]).toEqual(['SAFETY', 'Withheld.']);
});

test('a run that failed says so once', () => {
  const messages = messagesOf({
    run: 'run-1',
    said: [
      { kind: 'user', since: 1, text: 'hi' },
      { kind: 'error', since: 2, speaker: 'a', code: 'ValueError', text: 'The agent failed.' },
      { kind: 'end', since: 3, outcome: 'failed', code: 'ValueError' },
    ],
  });
  expect(messages[1]?.parts).toHaveLength(1);
  expect(messages[1]?.metadata?.failure).toBe('The run failed.');
});

test('in the past a tool is done from the moment it returned, also where ADK answers several calls at once', () => {
  const film = golden('parallel_specialists');
  const returned = film.items.nodes.flatMap((node) => {
    const end = endOf(node);
    return node.is.kind === 'tool' && end?.status === 'finished' ? [{ call: node.is.call, at: end.cursor }] : [];
  });
  expect(returned.length).toBeGreaterThan(0);
  for (const { call, at } of returned) {
    const statusAt = (moment: number) => chatAt(film, moment).find((said) => said.call === call)?.status;
    expect([statusAt(at - 1), statusAt(at)], call).toEqual(['requested', 'answered']);
  }
  expect(chatAt(film, film.last)).toEqual(conversationAt(film, film.last));
});
