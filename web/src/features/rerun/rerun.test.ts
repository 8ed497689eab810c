import { expect, test } from 'vitest';
import { bodyOf, type Edits } from './rerun';

const EDITS: Edits = {
  agent: 'shop',
  instruction: 'Be brief.',
  model: ' ',
  parameters: '',
  message: 'Hello',
  call: '{"b": 2, "a": 1}',
  models: 'auto',
  tools: 'recorded',
};
const RECORDED = { instruction: 'Be brief.', message: 'Hello', call: { tool: 'add', recorded: { a: 1, b: 2 } } };
const AS_IT_WAS = {
  wait: false,
  model: '',
  models: 'auto',
  tools: 'recorded',
  instructions: {},
  parameters: {},
  message: '',
  calls: [],
};

test('what is as it was recorded is not sent as a change', () => {
  expect(bodyOf(EDITS, RECORDED)).toEqual(AS_IT_WAS);
  expect(bodyOf({ ...EDITS, parameters: '{}', instruction: ' ' }, RECORDED)).toEqual(AS_IT_WAS);
});

test.each<[Partial<Edits>, object]>([
  [{ instruction: 'Be long.' }, { instructions: { shop: 'Be long.' } }],
  [{ message: 'Bye' }, { message: 'Bye' }],
  [{ parameters: '{"temperature": 0}' }, { parameters: { shop: { temperature: 0 } } }],
  [{ model: ' m ' }, { model: 'm' }],
  [{ call: '{"a": 3}' }, { tools: 'auto', calls: [{ ...RECORDED.call, instead: { a: 3 } }] }],
  [
    { call: '{}', tools: 'live' },
    { tools: 'live', calls: [{ ...RECORDED.call, instead: {} }] },
  ],
])('%o is sent', (edits, sent) => {
  expect(bodyOf({ ...EDITS, ...edits }, RECORDED)).toEqual({ ...AS_IT_WAS, ...sent });
});

test.each([
  [{ parameters: 'temperature 3' }, 'Parameters must be JSON'],
  [{ parameters: '[1]' }, 'Parameters must be a JSON object'],
  [{ call: '"x"' }, 'Arguments must be a JSON object'],
])('%o is refused in words', (edits, reason) => {
  expect(() => bodyOf({ ...EDITS, ...edits }, RECORDED)).toThrow(reason);
});
