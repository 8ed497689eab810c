/** Every state has its own words, and what matters more is said first. */
import { expect, test } from 'vitest';
import { begun, type Status } from './status';
import { stepOf } from './Meter';
import { statusText } from './statusText';

const OPEN = { kind: 'open' } as const;

const CASES: [said: string, change: Partial<Status>][] = [
  ['Connecting…', {}],
  ['Connection lost. Reconnecting…', { line: { kind: 'lost', attempt: 1 }, isSpeaking: true }],
  ['It failed.', { line: { kind: 'over', reason: 'It failed.' }, waits: 1 }],
  ['The voice chat has ended.', { line: { kind: 'over', reason: '' } }],
  ['Waiting for the microphone…', { line: OPEN }],
  ['No microphone', { line: OPEN, mic: { kind: 'none', reason: 'refused' } }],
  ['Ready', { line: OPEN, mic: { kind: 'off' } }],
  ['Muted', { line: OPEN, mic: { kind: 'off' }, mode: 'open' }],
  ['Listening', { line: OPEN, mic: { kind: 'on' }, isBusy: true }],
  ['Working…', { line: OPEN, mic: { kind: 'off' }, isBusy: true }],
  ['Speaking', { line: OPEN, mic: { kind: 'on' }, isSpeaking: true }],
  ['Waiting for you', { line: OPEN, mic: { kind: 'on' }, waits: 1 }],
  ['Speaking, and waiting for you', { line: OPEN, isSpeaking: true, waits: 2 }],
];

test.each(CASES)('%s', (said, change) => {
  expect(statusText({ ...begun('hold'), ...change }).text).toBe(said);
});

test('loudness is shown in twelve steps, in decibels', () => {
  expect([0, 0.001, 0.03, 0.25, 1, 2].map(stepOf)).toEqual([0, 0, 4, 9, 12, 12]);
});
