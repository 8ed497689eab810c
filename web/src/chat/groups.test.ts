import { expect, test } from 'vitest';
import { Calls, countTools, folded, grouped, type Placed } from './groups';
import { failingTool } from './blame';
import type { Part } from './message';

const call = (id: string, name = 'look_up', state = 'output-available'): Part =>
  ({
    type: 'dynamic-tool',
    toolName: name,
    toolCallId: id,
    state,
    input: {},
    output: {},
    errorText: 'no',
  }) as unknown as Part;
const text = (author: string, path: string, branch = ''): Part => ({
  type: 'text',
  text: author,
  providerMetadata: { adk: { author, path, branch } },
});
const placed = (...parts: Part[]): Placed[] => parts.map((part, index) => ({ part, index }));
const shape = (parts: Part[]) =>
  folded(grouped(placed(...parts), new Calls(parts)), () => true).map((item) =>
    item.kind === 'part' ? item.part.type : item.kind === 'group' ? item.name : `${item.name} ×${item.parts.length}`,
  );

test('agents that speak after each other at one place have groups of their own', () => {
  const parts = [
    text('draft', 'all/left', 'left'),
    text('review', 'all/left', 'left'),
    text('draft', 'all/left', 'left'),
  ];
  expect(shape(parts)).toEqual(['draft', 'review']);
});

test('equal calls fold to one line; others, and those that failed, stand by themselves', () => {
  const many = Array.from({ length: 200 }, (_, index) => call(`c${index}`));
  expect(shape(many)).toEqual(['look_up ×200']);
  expect(shape([call('a'), call('b')])).toEqual(['dynamic-tool', 'dynamic-tool']);
  expect(shape([...many.slice(0, 5), call('x', 'look_up', 'output-error'), ...many.slice(5, 9)])).toEqual([
    'look_up ×5',
    'dynamic-tool',
    'look_up ×4',
  ]);
  expect(shape([...many.slice(0, 4), call('y', 'other'), { type: 'text', text: 'done' }])).toEqual([
    'look_up ×4',
    'dynamic-tool',
    'text',
  ]);
});

test('an exception is told by the tool that raised it', () => {
  const failed = { ...call('c', 'find', 'output-error'), errorText: 'Boom. Reference: 0123456789ab.' } as Part;
  expect(failingTool([failed], 'The run failed. Reference: 0123456789ab.')).toBe('find');
  expect(failingTool([failed], 'Something else.')).toBeNull();
});

test('a call that an agent answers is no tool of the receipt', () => {
  const inside = { ...call('2'), callProviderMetadata: { adk: { within: '1' } } } as Part;
  expect(countTools([call('1', 'clerk'), inside, call('3')])).toBe(2);
});
