import { expect, test } from 'vitest';
import type { Said } from '../film/conversation';
import { messagesOf } from './past';

const SAID: Said[] = [
  { kind: 'user', since: 1, text: 'hi' },
  { kind: 'reasoning', since: 2, speaker: 'a', text: 'hm', complete: true },
  { kind: 'call', since: 3, call: 'c', name: 'look', input: {}, status: 'answered', output: { x: 1 } },
  { kind: 'text', since: 4, speaker: 'b', text: 'wor', complete: false },
  { kind: 'never heard of', since: 5, odd: true },
  { kind: 'end', since: 6, outcome: 'finished' },
];

test('what was said becomes messages of the same parts', () => {
  const messages = messagesOf(SAID, 'run-1');
  expect(messages.map((message) => message.role)).toEqual(['user', 'assistant']);
  expect(messages[1]?.parts.map((part) => part.type)).toEqual(['reasoning', 'dynamic-tool', 'text', 'data-unrecognised']);
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
  const [message] = messagesOf([{ kind: 'call', since: 1, call: 'c', name: 'n', input: {}, status }], 'run-1');
  expect(message?.parts[0]).toMatchObject({ state });
});
