import { expect, test } from 'vitest';
import { fieldsOf, linkToFound, type FoundRun } from './SearchPage';

const RUN = { run: 'r-1' } as FoundRun;

test('only fields of a search are sent', () => {
  expect(fieldsOf({ text: 'owls', outcome: '', panel: 'x', tool: 'count' })).toEqual({ text: 'owls', tool: 'count' });
});

test.each([
  [{ text: 'two owls' }, '#/run/r-1?find=two+owls'],
  [{ text: 'owls', tool: 'count' }, '#/run/r-1?find=owls&in=tool%3Acount'],
  [{ tool: 'c*' }, '#/run/r-1'],
  [{ error: '*' }, '#/run/r-1?in=kind%3Aerror'],
  [{ state: 'city' }, '#/run/r-1?find=city'],
])('a result of %o opens the run at the place', (fields, address) => {
  expect(linkToFound(RUN, fields)).toBe(address);
});
