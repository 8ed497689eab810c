import { describe, expect, it } from 'vitest';
import type { Message } from '../chat/message';
import { endingsOf, saidBefore, turnsOf } from './sessionData';

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

describe('endingsOf', () => {
  it('says of a copied message what the run took that took place, and which that is', () => {
    const run = (run: string, started: number, ended: number, message = run) => ({
      ...{ run, message, started, ended },
      outcome: 'finished',
    });
    const copied = { ...run('copy', 100, 100.001), copiedFrom: { run: 'first', seconds: 2.5 } };
    const { seconds, originals } = endingsOf([copied, run('own', 101, 104), run('next', 110, 111, 'own')]);
    expect([...seconds]).toEqual([
      ['copy', 2.5],
      ['own', 4],
    ]);
    expect([...originals]).toEqual([['copy', 'first']]);
  });
});

describe('turnsOf', () => {
  it('makes one turn of the answers of a run by voice', () => {
    const spoken = [
      message('q1', 'user'),
      message('r1', 'assistant', 'r1'),
      message('q2', 'user'),
      message('r1-2', 'assistant', 'r1'),
      message('q3', 'user'),
      message('r3', 'assistant', 'r3'),
    ];
    expect(turnsOf(spoken, []).map(({ message: id, runs }) => [id, runs])).toEqual([
      ['r1', ['r1']],
      ['r3', ['r3']],
    ]);
  });
});
