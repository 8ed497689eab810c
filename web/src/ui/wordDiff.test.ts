import { expect, test } from 'vitest';
import { changedWords } from './wordDiff';

const marks = (a: string, b: string) => {
  const [ours, theirs] = [a.split(' '), b.split(' ')];
  const changed = changedWords(ours, theirs);
  return [ours.filter((_, at) => changed.a[at]).join(' '), theirs.filter((_, at) => changed.b[at]).join(' ')];
};

test.each([
  ['the lamp costs 4', 'the lamp costs 4', '', ''],
  ['the lamp costs 4', 'the red lamp costs 5 euros', '4', 'red 5 euros'],
  ['a b c d e', 'b d', 'a c e', ''],
  ['one', 'two', 'one', 'two'],
])('of %o and %o the words that differ are found', (a, b, inA, inB) => {
  expect(marks(a, b)).toEqual([inA, inB]);
});

test('texts that are too long to compare differ between what they share at both ends', () => {
  const long = (word: string) => ['same', ...Array.from({ length: 3000 }, (_, at) => `${word}${at % 7}`), 'end'];
  const changed = changedWords(long('x'), long('y'));
  expect([changed.a[0], changed.a[1], changed.a.at(-1)]).toEqual([false, true, false]);
});
