import { expect, test } from 'vitest';
import { conversationAt } from './conversation';
import { graphAt } from './graph';
import { cursorOf, joinedWith, joinFilms, partsOf, pausesOf, placeOf, waitedBetween } from './joined';
import { golden } from './testFilms';
import { endOf } from './timeline';

const asked = golden('approval');
const answered = { ...golden('approval.2'), run: 'run-2' };
const joined = joinFilms([asked, answered]);

test('a film of one run is itself', () => {
  expect(joinFilms([asked])).toBe(asked);
  expect(partsOf(asked)).toEqual([{ run: asked.run, offset: 0, last: asked.last }]);
});

test('cursors and times go on, and say where the server has an entry', () => {
  expect(joined.last).toBe(asked.last + answered.last);
  expect(joined.times.length).toBe(joined.last);
  expect([...joined.times].sort((a, b) => a - b)).toEqual(joined.times);
  expect(placeOf(joined, asked.last)).toEqual({ run: asked.run, cursor: asked.last });
  expect(placeOf(joined, asked.last + 3)).toEqual({ run: 'run-2', cursor: 3 });
  expect(cursorOf(joined, 'run-2', 3)).toBe(asked.last + 3);
  expect(cursorOf(joined, 'elsewhere', 3)).toBeNull();
  expect(pausesOf(joined)).toHaveLength(1);
  const pause = pausesOf(joined)[0]!;
  expect(waitedBetween(joined, 0, joined.times.at(-1)!)).toBe(pause.until - pause.from);
  expect(waitedBetween(joined, 0, pause.from)).toBe(0);
});

test('what waited in the first run ends in the second: one call, one node, one wait', () => {
  const calls = joined.items.said.filter(({ is }) => is.kind === 'call');
  expect(calls).toHaveLength(1);
  expect(conversationAt(joined, joined.last).find(({ kind }) => kind === 'call')).toMatchObject({ status: 'answered' });
  expect(conversationAt(joined, asked.last).find(({ kind }) => kind === 'call')).toMatchObject({
    status: 'awaiting approval',
  });
  expect(joined.items.nodes.map(({ is }) => is.name)).toEqual(['tour', 'send_invoice']);
  expect(joined.items.nodes.map((node) => endOf(node)?.status)).toEqual(['finished', 'finished']);
  expect(joined.items.waits.map(({ marks }) => marks.length)).toEqual([1]);
  expect(joined.ended).toMatchObject({ outcome: 'finished', cursor: joined.last });
});

test('after an approval the graph says that the tool ran', () => {
  const view = graphAt(joined, joined.last);
  expect(JSON.stringify(view)).toContain('send_invoice');
});

test('while nothing changes it is the same film', () => {
  expect(joinedWith([asked], answered)).toBe(joinedWith([asked], answered));
  expect(joinedWith([], answered)).toBe(answered);
});
