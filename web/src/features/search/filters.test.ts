import { expect, test } from 'vitest';
import { chipsOf, completed, FILTERS, suggestions, textIn, withTyped } from './filters';

const NAMES = {
  agent: [
    ['planner', 7],
    ['Big planner', 2],
    ['writer', 1],
  ],
} as const;

test.each([
  ['two owls', 'two owls', {}],
  ['two agent:planner owls', 'two owls', { agent: 'planner' }],
  ['AGENT:planner', '', { agent: 'planner' }],
  ['error:"Out of memory" x', 'x', { error: 'Out of memory' }],
  ['tokens>1000 tokens<=5000', '', { minTokens: '1000', maxTokens: '5000' }],
  ['cost>0.1 cost<0.5', '', { cost: '0.1..0.5' }],
  ['agent: since:2d', '', { since: '2d' }],
  ['http://x 12:30 agent>3 tokens:4', 'http://x 12:30 agent>3 tokens:4', {}],
])('%o is text and filters', (typed, text, fields) => {
  expect(withTyped({}, typed)).toEqual({ ...fields, text });
  expect(textIn(typed)).toBe(text);
});

test('every field that an address may have is a chip, and reading it again gives the same field', () => {
  for (const { name, fields } of FILTERS) {
    for (const field of Object.values(fields)) {
      const given = { [field]: field === 'cost' ? '0.1..0.5' : 'a b' };
      const chips = chipsOf(given);
      expect(chips, name).toHaveLength(1);
      expect(withTyped({}, chips[0]!.text), name).toEqual({ ...given, text: '' });
    }
  }
  expect(chipsOf({ text: 'owls', sort: 'oldest' })).toEqual([]);
});

test('the names that runs have are suggested, and what filters there are', () => {
  const texts = (typed: string, fields = {}) => suggestions(typed, NAMES, fields).map(({ text }) => text);
  expect(texts('agent:')).toEqual(['agent:planner', 'agent:"Big planner"', 'agent:writer']);
  expect(texts('slow agent:WRI')).toEqual(['agent:writer']);
  expect(texts('plan')).toEqual(['agent:planner', 'agent:"Big planner"']);
  expect(texts('to')).toContain('tool:');
  expect(texts('')).toHaveLength(FILTERS.length);
  expect(texts('', { agent: 'planner' })).not.toContain('agent:');
  expect(texts('outcome:f')).toEqual(['outcome:finished', 'outcome:failed']);
  expect(texts('nothing:x')).toEqual([]);
});

test('a suggestion takes the place of the last word', () => {
  const suggestion = { text: 'agent:planner', hint: '', isWhole: true };
  expect(completed('two ag', suggestion)).toBe('two agent:planner');
  expect(completed('two ', suggestion)).toBe('two agent:planner');
});
