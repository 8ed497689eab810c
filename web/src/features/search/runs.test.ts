import { expect, test } from 'vitest';
import { fieldsOf } from './filters';
import { foundTitle, groupsOf, linkToFound, type FoundRun } from './runs';
import { isSame, readViews } from './SavedViews';

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
  const continued = { run: 'r-2', message: 'r-1', title: '' } as FoundRun;
  expect(foundTitle({ ...continued, messageTitle: 'Send it' })).toBe('Send it (continued)');
  expect(foundTitle(continued)).toBe('Continues an earlier message');
  expect(foundTitle({ run: 'r-1', message: 'r-1', title: 'Send it' } as FoundRun)).toBe('Send it');
  expect(foundTitle({ run: 'r-1', message: 'r-1', title: '' } as FoundRun)).toBe('Message without text');
});

test('continuations stand below the run of their message, in order, whatever the order of the results', () => {
  const one = (run: string, message: string, started: number) =>
    ({ run, message, started, app: 'a', user: 'u', session: 's' }) as FoundRun;
  const runs = [one('r-4', 'r-1', 4), one('r-3', 'r-3', 3), one('r-2', 'r-1', 2), one('r-1', 'r-1', 1)];
  const shown = groupsOf(runs).map(({ first, later }) => [first.run, ...later.map(({ run }) => run)]);
  expect(shown).toEqual([['r-1', 'r-2', 'r-4'], ['r-3']]);
  expect(groupsOf(runs.slice(0, 1))[0]!.first.run).toBe('r-4');
});

test('a stored view that nobody could have saved is passed over', () => {
  const good = { name: 'Slow', fields: { minDuration: '30' } };
  expect(readViews(JSON.stringify([good, { name: '', fields: {} }, { name: 'x', fields: { a: 1 } }, 3]))).toEqual([
    good,
  ]);
  for (const text of [null, '{', '{}', '3', 'null']) expect(readViews(text)).toEqual([]);
});

test('views are the same whatever the order of their fields', () => {
  expect(isSame({ tool: 'x', app: 'y', text: '' }, { app: 'y', tool: 'x' })).toBe(true);
  expect(isSame({ tool: 'x' }, {})).toBe(false);
});
