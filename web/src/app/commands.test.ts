import { expect, test } from 'vitest';
import { matching, type Command } from './commands';

const command = (title: string, group: Command['group'] = 'Actions', hint = ''): Command => ({
  id: title,
  group,
  title,
  hint,
  icon: 'play',
  run: () => undefined,
});

const ALL = [
  command('Keyboard shortcuts', 'Actions', '?'),
  command('Show the graph', 'Panels', '1'),
  command('assess_severity', 'Steps', 'Tool'),
  command('New chat with recovery', 'Apps'),
  ...Array.from({ length: 20 }, (_, index) => command(`Conversation ${index}`, 'Conversations')),
];

test('without words, some of each group', () => {
  const found = matching(ALL, '');
  expect(found.map(({ group }) => group)).toEqual([
    'Actions',
    'Panels',
    'Steps',
    'Apps',
    ...Array.from({ length: 8 }, () => 'Conversations'),
  ]);
});

test('all words have to be there, in the title or beside it, in any order', () => {
  expect(matching(ALL, 'graph show').map(({ title }) => title)).toEqual(['Show the graph']);
  expect(matching(ALL, 'tool sever').map(({ title }) => title)).toEqual(['assess_severity']);
  expect(matching(ALL, 'conversation 19').map(({ title }) => title)).toEqual(['Conversation 19']);
  expect(matching(ALL, 'nothing of this')).toEqual([]);
  const dark = { ...command('Use the dark theme'), words: 'settings colours' };
  expect(matching([...ALL, dark], 'settings')).toEqual([dark]);
});
