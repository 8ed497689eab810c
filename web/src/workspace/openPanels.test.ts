import { beforeEach, expect, test } from 'vitest';
import { openPanels, panelNamed, togglePanel, type Room } from './openPanels';

type Choice = { panel: string | null; options: Record<string, string> };

const FRESH: Choice = { panel: null, options: {} };

beforeEach(() => globalThis.localStorage?.clear());

function shown(choice: Choice, room: Room, suggested: string | null = null, hasRun = true): (string | undefined)[] {
  const { trace, side } = openPanels(choice, room, suggested, hasRun);
  return [trace?.name, side?.name];
}

/** Open or close panels one after the other; return what is open in the end. */
function after(room: Room, suggested: string | null, ...names: string[]): (string | undefined)[] {
  let choice: Choice = FRESH;
  for (const name of names)
    choice = togglePanel(choice, panelNamed(name)!, openPanels(choice, room, suggested, true), room) as Choice;
  return shown(choice, room, suggested);
}

test.each<[Room, string | null, boolean, (string | undefined)[]]>([
  ['panel', null, false, [undefined, undefined]],
  ['panel', null, true, [undefined, undefined]],
  ['panel', 'proof', true, [undefined, 'proof']],
  ['one', 'proof', true, [undefined, undefined]],
  ['two panels', null, false, [undefined, undefined]],
  ['two panels', null, true, ['timeline', undefined]],
  ['plenty', null, false, [undefined, undefined]],
  ['plenty', null, true, ['timeline', 'graph']],
  ['plenty', 'proof', true, ['timeline', 'proof']],
])('with room for %s and the suggestion %s', (room, suggested, hasRun, open) => {
  expect(shown(FRESH, room, suggested, hasRun)).toEqual(open);
});

test.each<[Room, string | null, string[], (string | undefined)[]]>([
  ['panel', null, ['state'], [undefined, 'state']],
  ['panel', null, ['state', 'state'], [undefined, undefined]],
  ['panel', null, ['state', 'graph'], [undefined, 'graph']],
  ['panel', null, ['timeline', 'state'], ['timeline', 'state']],
  ['panel', 'proof', ['proof'], [undefined, undefined]],
  ['two panels', null, ['state'], ['timeline', 'state']],
  ['two panels', null, ['timeline'], [undefined, undefined]],
  ['two panels', null, ['timeline', 'timeline', 'state'], ['timeline', 'state']],
  ['plenty', 'proof', ['proof'], ['timeline', undefined]],
  ['one', 'proof', ['state', 'timeline'], ['timeline', undefined]],
  ['one', null, ['timeline', 'timeline'], [undefined, undefined]],
])('with room for %s and the suggestion %s, after %j', (room, suggested, names, open) => {
  expect(after(room, suggested, ...names)).toEqual(open);
});

test('addresses of earlier versions open what they named', () => {
  expect(shown({ panel: 'timeline', options: {} }, 'panel')).toEqual(['timeline', undefined]);
  expect(shown({ panel: 'graph', options: { side: 'state' } }, 'two panels')).toEqual(['timeline', 'graph']);
  expect(shown({ panel: 'state', options: { waterfall: 'open' } }, 'panel')).toEqual(['timeline', 'state']);
});

test('whoever closed the trace finds it closed in the next chat', () => {
  after('two panels', null, 'timeline');
  expect(shown(FRESH, 'two panels')).toEqual(
    globalThis.localStorage ? [undefined, undefined] : ['timeline', undefined],
  );
});
