import { expect, test } from 'vitest';
import { openPanels, panelNamed, togglePanel, type Room } from './openPanels';

type Choice = { panel: string | null; options: Record<string, string> };

const FRESH: Choice = { panel: null, options: {} };

function shown(choice: Choice, room: Room, suggested: string | null = null, hasRun = true): (string | undefined)[] {
  const { centre, side } = openPanels(choice, room, suggested, hasRun);
  return [centre?.name, side?.name];
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
  ['plenty', null, false, [undefined, undefined]],
  ['plenty', 'proof', true, ['graph', 'proof']],
])('with room for %s and the suggestion %s', (room, suggested, hasRun, open) => {
  expect(shown(FRESH, room, suggested, hasRun)).toEqual(open);
});

test.each<[Room, string | null, string[], (string | undefined)[]]>([
  ['panel', null, ['state'], [undefined, 'state']],
  ['panel', null, ['state', 'state'], [undefined, undefined]],
  ['panel', null, ['state', 'event'], [undefined, 'event']],
  ['panel', null, ['state', 'graph'], ['graph', undefined]],
  ['panel', null, ['graph', 'state'], [undefined, 'state']],
  ['panel', 'proof', ['proof'], [undefined, undefined]],
  ['panel', 'proof', ['graph', 'graph'], [undefined, undefined]],
  ['two panels', null, ['graph', 'state'], ['graph', 'state']],
  ['two panels', null, ['state', 'graph'], ['graph', 'state']],
  ['two panels', null, ['graph', 'state', 'graph'], [undefined, 'state']],
  ['two panels', null, ['graph', 'state', 'state'], ['graph', undefined]],
  ['two panels', 'proof', ['graph'], ['graph', 'proof']],
  ['plenty', 'proof', ['graph'], [undefined, 'proof']],
  ['plenty', 'proof', ['graph', 'state'], [undefined, 'state']],
  ['plenty', 'proof', ['proof'], ['graph', undefined]],
  ['plenty', 'proof', ['proof', 'graph'], [undefined, undefined]],
  ['one', 'proof', ['state', 'graph'], ['graph', undefined]],
])('with room for %s and the suggestion %s, after %j', (room, suggested, names, open) => {
  expect(after(room, suggested, ...names)).toEqual(open);
});
