import { expect, test } from 'vitest';
import { middle } from '../../ui/wordDiff';
import { differing, type Change, type Step } from './comparison';

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
