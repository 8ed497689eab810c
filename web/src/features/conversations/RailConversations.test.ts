import { expect, test } from 'vitest';
import { sameEntries, type ConversationEntry } from '../../app/catalogue';
import { grouped, matching } from './RailConversations';

const NOW = new Date(2026, 4, 20, 12).getTime();
const entry = (session: string, daysAgo: number, more: Partial<ConversationEntry> = {}): ConversationEntry => ({
  app: 'a',
  user: 'user',
  session,
  title: session,
  said: '',
  pinned: false,
  started: 0,
  active: (NOW - daysAgo * 86_400_000) / 1000,
  runs: 1,
  run: session,
  outcome: 'finished',
  uploaded: false,
  recorded: true,
  forkedFrom: null,
  forks: [],
  ...more,
});

test('conversations are grouped by day, pinned ones first', () => {
  const groups = grouped(
    [entry('pin', 40, { pinned: true }), entry('now', 0), entry('last', 1), entry('week', 4), entry('old', 90)],
    NOW,
  );
  expect(groups.map(({ title, entries }) => [title, ...entries.map(({ session }) => session)])).toEqual([
    ['Pinned', 'pin'],
    ['Today', 'now'],
    ['Yesterday', 'last'],
    ['Last 7 days', 'week'],
    ['Older', 'old'],
  ]);
});

test('all words must be in the title or the first message', () => {
  const list = [entry('Night birds', 0, { said: 'Where are the owls?' }), entry('Bears', 0)];
  expect(matching(list, ' OWLS night ').map(({ session }) => session)).toEqual(['Night birds']);
  expect(matching(list, 'owls bears')).toEqual([]);
  expect(matching(list, ' ')).toHaveLength(2);
});

test('entries that are as they were stay the same objects', () => {
  const known = [entry('one', 0), entry('two', 1)];
  const next = sameEntries(known, [entry('two', 1), entry('one', 0, { title: 'renamed' })]);
  expect(next[0]).toBe(known[1]);
  expect(next[1]).not.toBe(known[0]);
  expect(next.map(({ title }) => title)).toEqual(['two', 'renamed']);
  expect(sameEntries(known, [entry('one', 0), entry('two', 1)])).toBe(known);
});
