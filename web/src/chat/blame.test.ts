import { expect, test } from 'vitest';
import { withExceptions } from './blame';
import type { Part } from './message';

const call = (id: string, author = 'tour'): Part => ({
  type: 'dynamic-tool',
  toolName: id,
  toolCallId: id,
  state: 'output-error',
  input: {},
  errorText: 'The run stopped before this tool returned.',
  callProviderMetadata: { adk: { author } },
});
const raised = (author = 'tour'): Part => ({
  type: 'data-error',
  data: { code: 'RuntimeError', author, path: '', message: 'Boom. Reference: 0123456789ab.' },
});
const errors = (parts: readonly Part[]) => parts.map((part) => ('errorText' in part ? part.errorText : ''));

test('the only open call of the agent that failed tells of the exception', () => {
  expect(errors(withExceptions([call('a'), raised()], null))[0]).toBe('Boom. Reference: 0123456789ab.');
});

test.each([
  ['two calls were open', [call('a'), call('b'), raised()]],
  ['the call is of another agent', [call('a', 'other'), raised()]],
  ['nothing was raised', [call('a')]],
])('nobody is blamed where %s', (_, parts) => {
  expect(withExceptions(parts, null)).toBe(parts);
});
