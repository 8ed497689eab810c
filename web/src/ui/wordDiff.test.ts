import { expect, test } from 'vitest';
import { changedWords, markedPieces } from './wordDiff';

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

test.each([
  ['Be brief.\nSay why.', 'Be kind.\nSay why. ', [' brief.'], [' kind.', ' ']],
  ['', 'new', [], ['new']],
  ['same', 'same', [], []],
])('pieces of %j and %j are whole texts with their changed words apart', (a, b, onlyA, onlyB) => {
  const pieces = markedPieces(a, b);
  for (const [text, side, only] of [
    [a, pieces.a, onlyA],
    [b, pieces.b, onlyB],
  ] as const) {
    expect(side.map((piece) => piece.text).join('')).toBe(text);
    expect(side.filter(({ isChanged }) => isChanged).map((piece) => piece.text)).toEqual(only);
  }
});
