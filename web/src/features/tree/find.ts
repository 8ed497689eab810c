/** Finding inside a run: where a text, a tool, an agent or a kind of event is. Pure. */
import type { Kind } from '../../ui/Kind';
import { isReplaced, once, type Film } from '../../film/film';
import { isText, type SaidItem } from '../../film/conversation';
import { eventsOf } from '../../film/events';

/** What is looked for. `within` is `kind:tool`, `tool:NAME`, `agent:NAME`, or empty for anything. */
export type Wanted = { text: string; within: string };

/** A text of the run that can be found, and the entries that wrote it: how long it was after each. */
type Spot = { text: string; cursors: readonly number[]; ends: readonly number[]; tool: string; agent: string };

/** Occurrences in one text: whoever looks for "e" does not go through all of them. */
const MOST_IN_A_TEXT = 200;

const ACCENTED = /[\u00c0-\u024f]/g;

/** Case and accents do not matter. The length stays: places in the text are places in the run. */
export function folded(text: string): string {
  const lower = text.toLowerCase();
  return (lower.length === text.length ? lower : text).replace(ACCENTED, (letter) => letter.normalize('NFD').charAt(0));
}

/** Words, and words in quotes together. */
export function termsOf(text: string): string[] {
  return [...folded(text).matchAll(/"([^"]+)"|([^\s"]+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
}

/** Return the cursors of what is looked for, in order. */
export function matchesIn(film: Film, { text, within }: Wanted): readonly number[] {
  const terms = termsOf(text);
  if (terms.length === 0 && within === '') return [];
  const [group, ...rest] = within.split(':');
  const name = folded(rest.join(':'));
  const found = new Set<number>();
  for (const spot of spotsOf(film)) {
    if ((group === 'tool' && folded(spot.tool) !== name) || (group === 'agent' && folded(spot.agent) !== name))
      continue;
    for (const cursor of placesIn(spot, terms)) found.add(cursor);
  }
  const infos = eventsOf(film);
  if (group === 'kind' && terms.length === 0) {
    for (const [cursor, info] of infos.entries()) if (info?.kind === name) found.add(cursor);
  }
  const cursors = group === 'kind' ? [...found].filter((cursor) => infos[cursor]?.kind === name) : [...found];
  return cursors.sort((a, b) => a - b);
}

function placesIn({ text, cursors, ends }: Spot, terms: readonly string[]): number[] {
  const [first] = terms;
  if (first === undefined) return cursors.slice(0, 1);
  if (!terms.every((term) => text.includes(term))) return [];
  const places: number[] = [];
  let piece = 0;
  for (
    let at = text.indexOf(first);
    at >= 0 && places.length < MOST_IN_A_TEXT;
    at = text.indexOf(first, at + first.length)
  ) {
    while (piece < ends.length - 1 && ends[piece]! <= at) piece++;
    places.push(cursors[piece]!);
  }
  return places;
}

const spotsOf = once((film: Film): readonly Spot[] => [
  ...film.items.said
    .filter((item) => !isReplaced(item.marks))
    .flatMap((item) => (isText(item) ? [textSpot(item)] : otherSpots(item))),
  ...film.items.nodes.map(({ since, is }) =>
    spot(since, is.name, is.kind === 'tool' ? is.name : '', is.kind === 'tool' ? '' : is.name),
  ),
  ...film.items.keys.flatMap(({ is, marks }) =>
    marks.map(([cursor, { writer, value }]) => spot(cursor, `${is.key} ${words(value)}`, '', writer)),
  ),
  ...film.items.sources.map(({ since, is }) => spot(since, `${is.title} ${is.uri}`, '', '')),
  ...(film.ended ? [spot(film.ended.cursor, `${film.ended.outcome} ${film.ended.code}`, '', '')] : []),
]);

function spot(cursor: number, text: string, tool: string, agent: string): Spot {
  return { text: folded(text), cursors: [cursor], ends: [text.length], tool, agent };
}

function textSpot({ is, since, marks }: SaidItem): Spot {
  const cursors: number[] = [];
  const ends: number[] = [];
  let text = '';
  for (const [cursor, piece] of marks) {
    if (typeof piece !== 'string') continue;
    text += piece;
    cursors.push(cursor);
    ends.push(text.length);
  }
  if (cursors.length === 0) cursors.push(since);
  return { text: folded(text), cursors, ends, tool: '', agent: is.speaker ?? '' };
}

/** A call where it was made and where it was answered; anything else where it was. */
function otherSpots({ is, since, marks }: SaidItem): Spot[] {
  const { kind, speaker, ...rest } = is;
  const tool = kind === 'call' ? String(is.name) : '';
  const made = is.earlier ? [] : [spot(since, words(rest), tool, speaker ?? '')];
  return [...made, ...marks.map(([cursor, news]) => spot(cursor, `${tool} ${words(news)}`, tool, speaker ?? ''))];
}

/** The texts and numbers of a value, keys included. */
function words(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Return the names of a run by which it can be narrowed down; its texts are not read for that. */
export const namesOf = once(({ items }: Film): { tools: string[]; agents: string[] } => {
  const tools = new Set<string>();
  const agents = new Set<string>();
  for (const { is, marks } of items.said) {
    if (isReplaced(marks)) continue;
    if (is.kind === 'call') tools.add(String(is.name));
    agents.add(is.speaker ?? '');
  }
  for (const { is } of items.nodes) (is.kind === 'tool' ? tools : agents).add(is.name);
  for (const { marks } of items.keys) for (const [, { writer }] of marks) agents.add(writer);
  const sorted = (names: Iterable<string>) => [...names].filter(Boolean).sort();
  return { tools: sorted(tools), agents: sorted(agents) };
});

export const KINDS: readonly Kind[] = ['text', 'reasoning', 'tool', 'state', 'approval', 'media', 'proof', 'error'];
