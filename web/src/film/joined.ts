/**
 * The film of an answer that took several runs: an approval, or an answer to a question, starts another run within the
 * same message. Joined, they are one film: cursors and times go on, and what the first run asked the second one answers.
 */
import type { Item, KeyNews, Mark, Proof, SaidAbout, SaidNews, WaitNews } from '@adk-prism/client/film';
import { once, type Film } from './film';
import { sameJson } from './state';

/** One run of a joined film. */
type Part = { run: string /** Entries before it. */; offset: number; last: number };

const parts = new WeakMap<Film, readonly Part[]>();

/** Return the runs that a film is of, in order. */
export function partsOf(film: Film): readonly Part[] {
  return parts.get(film) ?? [{ run: film.run, offset: 0, last: film.last }];
}

/** Return where the server has an entry: in which run, and at which cursor of it. */
export function placeOf(film: Film, cursor: number): { run: string; cursor: number } {
  const all = partsOf(film);
  const part = all.findLast(({ offset }) => offset < cursor) ?? all[0]!;
  return { run: part.run, cursor: cursor - part.offset };
}

/** Return the cursor of a run's entry in a film; null where the film is not of that run. */
export function cursorOf(film: Film, run: string, cursor: number): number | null {
  const part = partsOf(film).find((one) => one.run === run);
  return part ? part.offset + Math.min(cursor, part.last) : null;
}

/** Return in which run of a joined film an entry is, counted from 0. */
export function partIndex(film: Film, cursor: number): number {
  return partsOf(film).findLastIndex(({ offset }) => offset < cursor);
}

/** Return the films of the runs of one answer as one; of a single run, its own. */
export function joinFilms(films: readonly Film[]): Film {
  const [first, ...rest] = films;
  if (!first) throw new Error('There is no film to join.');
  if (rest.length === 0) return first;
  const joined = rest.reduce((all, next) => join(all, next), first);
  const offsets: Part[] = [];
  for (const { run, last } of films)
    offsets.push({ run, last, offset: (offsets.at(-1)?.offset ?? 0) + (offsets.at(-1)?.last ?? 0) });
  parts.set(joined, offsets);
  return joined;
}

/** The last join for the last run of an answer: while that grows, the runs before it stay the same. */
const known = new WeakMap<Film, { before: readonly Film[]; joined: Film }>();

/** Return the joined film, the same object while nothing has changed. */
export function joinedWith(before: readonly Film[], last: Film): Film {
  const found = known.get(last);
  if (found && found.before.length === before.length && found.before.every((film, index) => film === before[index]))
    return found.joined;
  const joined = joinFilms([...before, last]);
  known.set(last, { before, joined });
  return joined;
}

type Shift = { cursor: number; time: number /** The names of nodes in the joined film. */; node(id: string): string };

function join(all: Film, next: Film): Film {
  const lastTime = all.times.at(-1) ?? 0;
  const between = all.start !== null && next.start !== null ? (next.start - all.start) * 1_000_000 : lastTime;
  const resumed = resumedNodes(all.items.nodes, next.items.nodes);
  const shift: Shift = {
    cursor: all.last,
    time: Math.max(lastTime, Math.round(between)),
    node: (id) => id && (resumed.get(id) ?? `${next.run}/${id}`),
  };
  const { items } = next;
  const items2: Film['items'] = {
    nodes: joinNodes(all.items.nodes, items.nodes, shift),
    waits: joinWaits(all, next, shift),
    calls: [
      ...(all.items.calls ?? []),
      ...(items.calls ?? []).map((item) => ({
        ...moved(item, shift, all.items.calls?.length ?? 0),
        is: { ...item.is, node: shift.node(item.is.node), start: item.is.start + shift.time },
      })),
    ],
    keys: byName(all.items.keys, items.keys, shift, ({ key }) => key, isNewValue),
    said: joinSaid(all.items.said, items.said, shift),
    proofs: byName(
      all.items.proofs,
      items.proofs.map((item) => shiftedProof(item, shift)),
      shift,
      ({ id }) => id,
    ),
    sources: [...all.items.sources, ...items.sources.map((item) => moved(item, shift, all.items.sources.length))],
    classes: counted(all.items.classes, items.classes, shift),
    receipts: [...all.items.receipts, ...items.receipts.map((item) => moved(item, shift, all.items.receipts.length))],
    artifacts: [
      ...(all.items.artifacts ?? []),
      ...(items.artifacts ?? []).map((item) => moved(item, shift, all.items.artifacts?.length ?? 0)),
    ],
    faults: byName(all.items.faults, items.faults, shift, ({ key }) => key),
  };
  const ended = next.ended && {
    ...next.ended,
    cursor: next.ended.cursor + shift.cursor,
    completion: next.ended.completion === null ? null : next.ended.completion + shift.cursor,
  };
  const names = new Set(all.agents.map(({ name }) => name));
  return {
    ...next,
    start: all.start,
    last: all.last + next.last,
    times: all.times.concat(next.times.map((time) => time + shift.time)),
    agents: [...all.agents, ...next.agents.filter(({ name }) => !names.has(name))],
    ended,
    items: items2,
  };
}

function marksOf<News>(marks: readonly Mark<News>[], shift: Shift): Mark<News>[] {
  return marks.map(([cursor, news]) => [cursor + shift.cursor, news]);
}

function moved<About, News>(item: Item<About, News>, shift: Shift, count: number): Item<About, News> {
  return {
    ...item,
    index: item.index + count,
    since: item.since + shift.cursor,
    marks: marksOf(item.marks, shift),
  };
}

type NodeItem = Film['items']['nodes'][number];

/** Return which nodes of a run go on with one of the run before, by their ids: those that waited, and those around. */
function resumedNodes(all: readonly NodeItem[], next: readonly NodeItem[]): Map<string, string> {
  const waiting = new Map(all.filter(isLeft).map((item) => [nameOf(item), item.is.node]));
  return new Map(
    next.flatMap((item) => (waiting.has(nameOf(item)) ? [[item.is.node, waiting.get(nameOf(item))!]] : [])),
  );
}

function isLeft({ is, marks }: NodeItem): boolean {
  const end = marks.find(([, news]) => 'status' in news)?.[1];
  return is.parent === '' || !end || ('status' in end && end.status === 'waiting');
}

function nameOf({ is: { kind, name, path, lane, call } }: NodeItem): string {
  return JSON.stringify([kind, name, path, lane, call]);
}

function joinNodes(all: readonly NodeItem[], next: readonly NodeItem[], shift: Shift): NodeItem[] {
  const joined = [...all];
  const places = new Map(joined.map(({ is }, index) => [is.node, index]));
  for (const item of next) {
    const marks = item.marks.map(([cursor, news]): NodeItem['marks'][number] => [
      cursor + shift.cursor,
      'status' in news ? { ...news, end: news.end + shift.time } : news,
    ]);
    const place = places.get(shift.node(item.is.node));
    if (place !== undefined) {
      const before = joined[place]!;
      joined[place] = { ...before, marks: [...before.marks.filter(([, news]) => !('status' in news)), ...marks] };
      continue;
    }
    const { node, parent, start } = item.is;
    joined.push({
      ...item,
      index: joined.length,
      since: item.since + shift.cursor,
      is: { ...item.is, node: shift.node(node), parent: shift.node(parent), start: start + shift.time },
      marks,
    });
  }
  return joined;
}

/** What the first run waited for was answered when the next one began. */
function joinWaits(all: Film, next: Film, shift: Shift): Film['items']['waits'] {
  const answered: Mark<WaitNews> = [shift.cursor + 1, { end: shift.time }];
  return [
    ...all.items.waits.map((wait) => (wait.marks.length ? wait : { ...wait, marks: [answered] })),
    ...next.items.waits.map((wait) => ({
      ...moved(wait, shift, all.items.waits.length),
      is: { ...wait.is, start: wait.is.start + shift.time },
      marks: wait.marks.map(([cursor, { end }]): Mark<WaitNews> => [cursor + shift.cursor, { end: end + shift.time }]),
    })),
  ];
}

type SaidItem = Item<SaidAbout, SaidNews>;

/** A call of the first run that the second one answers is one call. */
function joinSaid(all: readonly SaidItem[], next: readonly SaidItem[], shift: Shift): SaidItem[] {
  const joined = [...all];
  for (const item of next) {
    const place = item.is.earlier
      ? joined.findIndex(({ is }) => is.kind === 'call' && is.call === item.is.call && !is.earlier)
      : -1;
    if (place >= 0) {
      const asked = joined[place]!;
      joined[place] = { ...asked, marks: [...asked.marks, ...marksOf(item.marks, shift)] };
    } else {
      const node = item.is.node === undefined ? {} : { node: shift.node(item.is.node) };
      joined.push({ ...moved(item, shift, 0), index: joined.length, is: { ...item.is, ...node } });
    }
  }
  return joined;
}

/** Items that are there once for each name: what is new of them comes behind what is known. */
function byName<About, News>(
  all: readonly Item<About, News>[],
  next: readonly Item<About, News>[],
  shift: Shift,
  name: (about: About) => string,
  isNew: (before: News | undefined, after: News) => boolean = () => true,
): Item<About, News>[] {
  const joined = [...all];
  const places = new Map(joined.map((item, index) => [name(item.is), index]));
  for (const item of next) {
    const place = places.get(name(item.is));
    if (place === undefined) joined.push({ ...moved(item, shift, 0), index: joined.length });
    else {
      const before = joined[place]!;
      const marks = item.marks.filter(([, news], index) => index > 0 || isNew(before.marks.at(-1)?.[1], news));
      joined[place] = { ...before, marks: [...before.marks, ...marksOf(marks, shift)] };
    }
  }
  return joined;
}

/** The state that a run begins with is what the one before left. */
function isNewValue(before: KeyNews | undefined, after: KeyNews): boolean {
  if (before?.value === undefined || after.value === undefined) return before?.value !== after.value;
  return !sameJson(before.value, after.value);
}

/** Counts go on where they were. */
function counted(
  all: Film['items']['classes'],
  next: Film['items']['classes'],
  shift: Shift,
): Film['items']['classes'] {
  const reached = new Map(all.map(({ is, marks }) => [is.id, marks.at(-1)?.[1] ?? 0]));
  const raised = next.map((item) => ({
    ...item,
    marks: item.marks.map(([cursor, count]): Mark<number> => [cursor, count + (reached.get(item.is.id) ?? 0)]),
  }));
  return byName(all, raised, shift, ({ id }) => id);
}

/** Every piece of a proof names the entry that it came from. */
function shiftedProof(item: Film['items']['proofs'][number], shift: Shift): Film['items']['proofs'][number] {
  return { ...item, marks: item.marks.map(([cursor, proof]) => [cursor, shiftCursors(proof, shift.cursor)]) };
}

function shiftCursors(proof: Proof, by: number): Proof {
  const move = <Piece extends { cursor: number }>(piece: Piece): Piece => ({ ...piece, cursor: piece.cursor + by });
  return {
    ...proof,
    readings: proof.readings.map(move),
    citations: proof.citations.map(move),
    reasoning_chain: proof.reasoning_chain.map(move),
    ...(proof.factors ? { factors: proof.factors.map(move) } : {}),
    ...(proof.unread ? { unread: proof.unread.map(move) } : {}),
  };
}

/** Return the stretches of a joined film between two runs, in microseconds: nothing ran, a person was asked. */
export const pausesOf = once((film: Film): readonly { from: number; until: number }[] =>
  partsOf(film)
    .slice(1)
    .map(({ offset }) => ({ from: film.times[offset - 1] ?? 0, until: film.times[offset] ?? 0 })),
);

/** Return how long a person was waited for between two times, in microseconds. */
export function waitedBetween(film: Film, from: number, until: number): number {
  return pausesOf(film).reduce(
    (sum, pause) => sum + Math.max(0, Math.min(until, pause.until) - Math.max(from, pause.from)),
    0,
  );
}
