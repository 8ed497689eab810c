/** What a model call took, in words. */
import { expect, test } from 'vitest';
import { callTokens, compact, costShort, costWords, number, share } from './format';

test.each([
  [{ input: 1200, cached: 60, output: 7, total: 1207 }, 'tokens: 1,200 in, 60 of them cached, 7 out'],
  [{ total: 12 }, 'tokens: 12'],
  [{}, ''],
])('%j', (tokens, words) => expect(callTokens(tokens)).toBe(words));

test.each([
  [0.00012345, 'cost 0.0001235'],
  [0, 'cost 0'],
  [null, 'cost unknown: the model has no price'],
])('a cost of %j', (cost, words) => expect(costWords(cost)).toBe(words));

test('numbers, shares and large counts are written in one way', () => {
  expect([number(2686), share(0.6), share(0.001), share(0.999)]).toEqual(['2,686', '60%', 'under 1%', 'over 99%']);
  expect([669, 2686, 15_800, 999_400, 1_200_000].map(compact)).toEqual(['669', '2.7k', '16k', '999k', '1.2M']);
});

test('a cost in little room', () => {
  expect([0.0000371, 0.00371, 0.5, 12.345].map(costShort)).toEqual(['<0.0001', '0.0037', '0.5', '12.35']);
});
