import { describe, expect, it } from 'vitest';
import type { Message } from '../chat/message';
import { saidBefore } from './sessionData';

const message = (id: string, role: 'user' | 'assistant', runId?: string): Message =>
  ({ id, role, parts: [], metadata: runId ? { runId } : undefined }) as Message;
const chat = [
  message('q1', 'user'),
  message('r1', 'assistant'),
  message('q2', 'user'),
  message('r2', 'assistant', 'r3'),
];

describe('saidBefore', () => {
  it.each([
    ['r1', 0],
    ['r2', 2],
    ['r3', 2],
  ])('ends where the turn of %s begins', (run, count) => {
    expect(saidBefore(chat, run)).toEqual(chat.slice(0, count));
  });

  it('leaves out the question of a run that still goes on', () => {
    expect(saidBefore([...chat, message('q4', 'user')], 'r4')).toEqual(chat);
  });
});
