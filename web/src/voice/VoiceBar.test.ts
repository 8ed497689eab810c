/** Every state has its own words, and what matters more is said first. */
import { begun, type LiveState } from '@adk-prism/client/live';
import { expect, test } from 'vitest';
import { stepOf, statusText } from './VoiceBar';

const OPEN = { kind: 'open' } as const;

const CASES: [said: string, change: Partial<LiveState>][] = [
  ['Connecting…', {}],
  ['Connection lost. Reconnecting…', { connection: { kind: 'lost', attempt: 1 }, isSpeaking: true }],
  ['It failed.', { connection: { kind: 'over', reason: 'It failed.' }, waits: 1 }],
  ['The voice chat has ended.', { connection: { kind: 'over', reason: '' } }],
  ['Waiting for the microphone…', { connection: OPEN }],
  ['No microphone', { connection: OPEN, mic: { kind: 'none', reason: 'refused' } }],
  ['Ready', { connection: OPEN, mic: { kind: 'off' } }],
  ['Muted', { connection: OPEN, mic: { kind: 'off' }, mode: 'open' }],
  ['Listening', { connection: OPEN, mic: { kind: 'on' }, isBusy: true }],
  ['Working…', { connection: OPEN, mic: { kind: 'off' }, isBusy: true }],
  ['Speaking', { connection: OPEN, mic: { kind: 'on' }, isSpeaking: true }],
  ['Waiting for you', { connection: OPEN, mic: { kind: 'on' }, waits: 1 }],
  ['Speaking, and waiting for you', { connection: OPEN, isSpeaking: true, waits: 2 }],
];

test.each(CASES)('%s', (said, change) => {
  expect(statusText({ ...begun('hold'), ...change }).text).toBe(said);
});

test('loudness is shown in twelve steps, in decibels', () => {
  expect([0, 0.001, 0.03, 0.25, 1, 2].map(stepOf)).toEqual([0, 0, 4, 9, 12, 12]);
});
