import { expect, test } from 'vitest';
import { nextFrom } from './hooks';

test.each([
  // [drawn from, of length, now of length, least, so from]
  ['a long thing begins at its end', 0, 0, 1000, 0, 900],
  ['then what came before it', 900, 1000, 1000, 0, 800],
  ['until it is whole', 50, 1000, 1000, 0, 0],
  ['and no further than asked for', 50, 1000, 1000, 40, 40],
  ['a short thing is whole at once', 0, 0, 80, 0, 0],
  ['what grows word by word stays', 0, 1000, 1005, 0, 0],
  ['after a jump on, the end comes first', 0, 1000, 5000, 0, 4900],
  ['after a jump back, too', 4000, 5000, 1000, 0, 900],
  ['after a small step back nothing is lost', 4000, 5000, 4990, 0, 3900],
  ['nothing is nothing', 400, 500, 0, 0, 0],
])('%s', (_, from, before, length, least, expected) => {
  expect(nextFrom({ from, length: before }, length, 100, least)).toBe(expected);
});
