import { expect, test } from 'vitest';
import { fieldsOf, foundTitle, linkToFound, type FoundRun } from './SearchPage';

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

test('a run that goes on with a message is called after it, not by its id', () => {
  const asked = { run: 'r-1', message: 'r-1', title: 'Send it' } as FoundRun;
  const continued = { run: 'r-2', message: 'r-1', title: '' } as FoundRun;
  expect(foundTitle(continued, [continued, asked])).toBe('Send it (continued)');
  expect(foundTitle(continued, [continued])).toBe('Continues an earlier message');
  expect(foundTitle(asked, [])).toBe('Send it');
});
