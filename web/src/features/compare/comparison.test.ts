import { expect, test } from 'vitest';
import { middle } from '../../ui/wordDiff';
import { changedInstructions, differing, summaryOf, type Change, type Comparison, type Step } from './comparison';

const step = (depth: number, name: string, change: Change): Step => ({ depth, kind: 'agent', name, change });

test('steps that differ are shown with those around them', () => {
  const steps = [
    step(0, 'root', 'same'),
    step(1, 'first', 'same'),
    step(2, 'call', 'changed'),
    step(1, 'second', 'same'),
    step(2, 'other', 'same'),
  ];
  expect(differing(steps).map((each) => each.name)).toEqual(['root', 'first', 'call']);
});

test.each([
  ['a b c d', 'a x c d', { before: 'a ', a: 'b', b: 'x', after: ' c d' }],
  ['same', 'same', { before: 'same', a: '', b: '', after: '' }],
  ['', 'new', { before: '', a: '', b: 'new', after: '' }],
  ['one two', 'one two two', { before: 'one two', a: '', b: ' two', after: '' }],
])('the middle of %j and %j is what differs', (a, b, pieces) => {
  expect(middle(a, b)).toEqual(pieces);
  expect(pieces.before + pieces.a + pieces.after).toBe(a);
  expect(pieces.before + pieces.b + pieces.after).toBe(b);
});

const run = { run: 'r', app: 'a', session: 's', message: '', outcome: null, code: '', started: null, seconds: 0 };
const side = { ...run, entries: 0, tokens: {}, failures: 0 };
const compared = (steps: Step[], more: Partial<Comparison> = {}): Comparison => ({
  same: false,
  differs: [],
  a: side,
  b: side,
  answer: { same: true, a: 'x', b: 'x' },
  steps,
  state: [],
  ...more,
});

test('the summary says what is the same and what differs', () => {
  const tool = (change: Change): Step => ({ depth: 1, kind: 'tool', name: 't', change });
  const asked: Step = {
    ...step(0, 'root', 'changed'),
    request: { a: { instruction: 'Be kind.' }, b: { instruction: null } },
  };
  expect(summaryOf(compared([asked, tool('same'), tool('same')]))).toEqual([
    'Answer: same',
    'Tools: same (2)',
    'Instruction: changed',
    'Final state: same',
  ]);
  const other = compared([tool('added'), tool('same')], {
    answer: { same: false, a: '', b: 'x' },
    differs: ['requests'],
  });
  expect(summaryOf(other)).toEqual(['Answer: changed', 'Tools: 1 of 2 differ', 'Prompt: changed', 'Final state: same']);
  expect(changedInstructions(compared([asked, asked]))).toEqual([{ agent: 'root', a: 'Be kind.', b: '' }]);
});
