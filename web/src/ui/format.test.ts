/** What a model call took, in words. */
import { expect, test } from 'vitest';
import { callTokens, costWords } from './format';

test.each([
  [{ input: 1200, cached: 60, output: 7, total: 1207 }, 'tokens: 1\u202f200 in, 60 of them cached, 7 out'],
  [{ total: 12 }, 'tokens: 12'],
  [{}, ''],
])('%j', (tokens, words) => expect(callTokens(tokens)).toBe(words));

test.each([
  [0.00012345, 'cost 0.0001235'],
  [0, 'cost 0'],
  [null, 'cost unknown: the model has no price'],
])('a cost of %j', (cost, words) => expect(costWords(cost)).toBe(words));
