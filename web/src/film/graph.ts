/**
 * The run as a graph at a cursor: which node led to which, how often, and which keys went along.
 * The rules are those of `features/page/graph.py`. All steps of a run are found once; what had added up at a cursor is then
 * bisected, so that a playhead moves through a long run as quickly as through a short one.
 */
import type { Mark, NodeKind } from '@adk-prism/client/film';
import { grouped, once, type Film, countUpTo, lastUpTo, upTo } from './film';
import { difference, keysAt } from './state';
import { endAt, endOf, SECOND, timeAt, type NodeItem } from './timeline';

export const START = 'START';
export const END = 'END';
export type EdgeKind = 'sequence' | 'transfer' | 'delegation' | 'tool';

const CARRYING = new Set<EdgeKind>(['sequence', 'transfer']);

export type Passage = { from: string; to: string; kind: EdgeKind; keys: string[] };
export type GraphNode = {
  id: string;
  kind: NodeKind;
  status: string;
  runs: number;
  failures: number;
  duration: number;
};
export type GraphEdge = Passage & { count: number };
export type GraphView = { nodes: GraphNode[]; edges: GraphEdge[]; asItRan: Passage[] };

export function graphAt(film: Film, at: number): GraphView {
  return { nodes: nodesSummedAt(film, at), edges: edgesSummedAt(film, at), asItRan: passagesAt(film, at) };
}

/** There from a cursor on, and up to another: a tool is seen until it turns out only to run an agent. */
type Spell = { order: number; since: number; until: number };
/** `flow`: the keys of a call's arguments and results, each from where it was seen. */
type Step = Spell & { passage: Passage; flow: Mark<string>[] };

function isThere({ since, until }: Spell, at: number): boolean {
  return since <= at && at < until;
}

export function passagesAt(film: Film, at: number): Passage[] {
  return stepsOf(film).flatMap((step) => (isThere(step, at) ? [passageAt(step, at)] : []));
}

function passageAt({ passage, flow }: Step, at: number): Passage {
  return flow.length ? { ...passage, keys: upTo(flow, at).map(([, key]) => key) } : passage;
}

/** The children of one node, in waves: those that ran side by side, and those that came before. */
type Generation = { before: string[]; finished: string[] };
type Way = Omit<Passage, 'keys'> & { since: number; until: number };

const stepsOf = once((film: Film): Step[] => {
  const ways = waysOf(film);
  const left = keysLeft(film, ways);
  const changed = keysChanged(film, ways);
  const flows = flowsOf(film);
  return ways.map(({ since, until, ...way }, order) => ({
    flow: CARRYING.has(way.kind) ? [] : (flows.get(way.to) ?? []),
    order,
    since,
    until,
    passage: { ...way, keys: CARRYING.has(way.kind) ? ((way.to === END ? changed : left).get(way.from) ?? []) : [] },
  }));
});

function waysOf(film: Film): Way[] {
  const callers = callersOf(film);
  const places = placesOf(film);
  const generations = new Map<string, Generation>();
  const ways: Way[] = [];
  const add = (from: string, to: string, kind: EdgeKind, since: number, until = Infinity) =>
    ways.push({ from, to, kind, since, until });
  for (const { node, begins, cursor } of momentsOf(film)) {
    const { node: id, parent, kind } = node.is;
    if (kind === 'tool') {
      if (begins) add(parent || START, id, 'tool', cursor, callers.get(id)?.since);
      continue;
    }
    const place = places.get(id)!;
    let generation = generations.get(place);
    if (!generation) generations.set(place, (generation = { before: [place || START], finished: [] }));
    if (!begins) {
      generation.finished.push(id);
      continue;
    }
    if (place !== parent) {
      generation.finished = generation.finished.filter((other) => other !== parent);
      add(parent, id, 'transfer', cursor);
      continue;
    }
    if (generation.finished.length) {
      generation.before = generation.finished;
      generation.finished = [];
    }
    for (const source of generation.before) {
      add(callers.get(source)?.caller ?? source, id, source === parent ? 'delegation' : 'sequence', cursor);
    }
  }
  if (film.ended?.outcome === 'finished') {
    for (const source of generations.get('')?.finished ?? []) add(source, END, 'sequence', film.ended.cursor);
  }
  return ways;
}

/** Return for each node in which it stands: its parent, or, handed over to, where that one stood. */
function placesOf(film: Film): Map<string, string> {
  const known = new Map(film.items.nodes.map((node) => [node.is.node, node]));
  const places = new Map<string, string>();
  for (const node of film.items.nodes) {
    const parent = known.get(node.is.parent);
    const end = parent && parent.is.kind !== 'tool' ? endOf(parent) : null;
    places.set(node.is.node, end && end.cursor <= node.since ? places.get(node.is.parent)! : node.is.parent);
  }
  return places;
}

type Caller = { caller: string; since: number };

/** Return the tools that only run an agent: who calls each, and since when that is known. */
const callersOf = once((film: Film): Map<string, Caller> => {
  const tools = new Map(film.items.nodes.filter(({ is }) => is.kind === 'tool').map((node) => [node.is.node, node]));
  const callers = new Map<string, Caller>();
  for (const { is, since } of film.items.nodes) {
    const tool = is.kind === 'tool' ? undefined : tools.get(is.parent);
    if (tool && !callers.has(is.parent)) callers.set(is.parent, { caller: tool.is.parent || START, since });
  }
  return callers;
});

type Moment = { cursor: number; order: number; begins: boolean; node: NodeItem };

/** The starts and ends of all nodes, in order. */
const momentsOf = once((film: Film): Moment[] => {
  const found: Moment[] = [];
  film.items.nodes.forEach((node, order) => {
    found.push({ cursor: node.since, order, begins: true, node });
    const end = endOf(node);
    if (end) found.push({ cursor: end.cursor, order, begins: false, node });
  });
  return found.sort((a, b) => a.cursor - b.cursor || a.order - b.order || Number(a.begins) - Number(b.begins));
});

/** Return the keys that each node left behind from which it goes on. */
function keysLeft(film: Film, ways: readonly Way[]): Map<string, string[]> {
  const sources = new Set(ways.filter((way) => CARRYING.has(way.kind)).map((way) => way.from));
  const ends = new Map<string, number>();
  for (const node of film.items.nodes) {
    const end = sources.has(node.is.node) ? endOf(node) : null;
    if (end) ends.set(node.is.node, end.cursor);
  }
  const keys = keysAt(film, ends.values());
  return new Map([...ends].map(([node, cursor]) => [node, keys.get(cursor)!]));
}

/** Return the keys that the run had added or changed when each node ended that leads to its end. */
function keysChanged(film: Film, ways: readonly Way[]): Map<string, string[]> {
  const last = new Set(ways.filter((way) => way.to === END).map((way) => way.from));
  return new Map(
    film.items.nodes.flatMap((node): [string, string[]][] => {
      const end = last.has(node.is.node) ? endOf(node) : null;
      return end
        ? [
            [
              node.is.node,
              difference(film, 1, end.cursor).flatMap(({ key, kind }) => (kind === 'removed' ? [] : [key])),
            ],
          ]
        : [];
    }),
  );
}

type SaidItem = Film['items']['said'][number];

/** Return the keys that went to and from each node that a call runs, from where on each was seen. */
function flowsOf(film: Film): Map<string, Mark<string>[]> {
  const calls = callsThatRun(film);
  const flows = new Map<string, Mark<string>[]>();
  for (const { is, since } of film.items.nodes) {
    const call = calls.get(is.node);
    if (call) flows.set(is.node, firsts(keysOf(call).map(([cursor, key]) => [Math.max(cursor, since), key])));
  }
  return flows;
}

/** The call that runs each node; of several with that id it is the last one that was made by then. */
export const callsThatRun = once((film: Film): Map<string, SaidItem> => {
  const made = grouped(
    film.items.said.filter(({ is }) => is.kind === 'call'),
    ({ is }) => is.call,
  );
  const found = new Map<string, SaidItem>();
  for (const { is, since } of film.items.nodes) {
    const calls = is.call ? made.get(is.call) : undefined;
    const call = calls?.findLast((one) => one.since <= since) ?? calls?.[0];
    if (call) found.set(is.node, call);
  }
  return found;
});

function keysOf({ is, since, marks }: SaidItem): Mark<string>[] {
  const answers = marks.map(([cursor, news]): Mark<unknown> => [cursor, isObject(news) ? news.output : null]);
  const given: Mark<unknown> = [since, is.input];
  return [given, ...answers].flatMap(([cursor, value]) =>
    isObject(value) ? Object.keys(value).map((key): Mark<string> => [cursor, key]) : [],
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return each key once, where it was first seen, in that order. */
function firsts(marks: Mark<string>[]): Mark<string>[] {
  const seen = new Map<string, Mark<string>>();
  for (const mark of marks.toSorted((a, b) => a[0] - b[0])) if (!seen.has(mark[1])) seen.set(mark[1], mark);
  return [...seen.values()];
}

// --- summed up by name

type Run = Spell & { node: NodeItem };
/** What runs of a name had added up to. Their time in all is `open` times now, and `base`. */
type Total = { runs: number; failures: number; open: number; base: number };
type NodeSum = { runs: Run[]; totals: Mark<Total>[] };

/** Sum the runs of each name up: its last status, how often it ran, how long in all. */
export function nodesSummedAt(film: Film, at: number): GraphNode[] {
  const now = timeAt(film, at);
  const found: (GraphNode & Pick<Spell, 'order'>)[] = [];
  for (const [id, { runs, totals }] of nodeSums(film)) {
    const total = lastUpTo(totals, at)?.[1];
    const first = total?.runs ? runs.find((run) => isThere(run, at)) : undefined;
    if (!total || !first) continue;
    const last = runs.findLast((run) => isThere(run, at)) ?? first;
    const status = endAt(last.node, at)?.status ?? 'running';
    const duration = (total.open * now + total.base) / SECOND;
    found.push({
      order: first.order,
      id,
      kind: first.node.is.kind,
      status,
      runs: total.runs,
      failures: total.failures,
      duration,
    });
  }
  return inOrder(found);
}

const nodeSums = once((film: Film): Map<string, NodeSum> => {
  const callers = callersOf(film);
  const sums = new Map<string, { runs: Run[]; changes: Mark<Total>[] }>();
  film.items.nodes.forEach((node, order) => {
    const sum = sums.get(node.is.name) ?? { runs: [], changes: [] };
    sums.set(node.is.name, sum);
    const run = { node, order, since: node.since, until: callers.get(node.is.node)?.since ?? Infinity };
    sum.runs.push(run);
    sum.changes.push(...changesOf(run));
  });
  return new Map([...sums].map(([name, { runs, changes }]) => [name, { runs, totals: added(changes) }]));
});

/** What one run adds to its name's sum, and when; with its spell, all of it goes again. */
function changesOf({ node, since, until }: Run): Mark<Total>[] {
  const { start } = node.is;
  const changes: Mark<Total>[] = [[since, { runs: 1, failures: 0, open: 1, base: -start }]];
  const end = endOf(node);
  if (end && end.cursor < until)
    changes.push([end.cursor, { runs: 0, failures: Number(end.status === 'failed'), open: -1, base: end.end }]);
  if (until !== Infinity) changes.push([until, negative(sumOf(changes))]);
  return changes;
}

function added(changes: Mark<Total>[]): Mark<Total>[] {
  let total: Total = { runs: 0, failures: 0, open: 0, base: 0 };
  return changes
    .sort((a, b) => a[0] - b[0])
    .map(([cursor, change]): Mark<Total> => [cursor, (total = plus(total, change))]);
}

function sumOf(changes: readonly Mark<Total>[]): Total {
  return changes.map(([, change]) => change).reduce(plus);
}

function plus(a: Total, b: Total): Total {
  return { runs: a.runs + b.runs, failures: a.failures + b.failures, open: a.open + b.open, base: a.base + b.base };
}

function negative({ runs, failures, open, base }: Total): Total {
  return { runs: -runs, failures: -failures, open: -open, base: -base };
}

type EdgeSum = Omit<Passage, 'keys'> & {
  steps: Step[];
  begins: Mark<null>[];
  ends: Mark<null>[];
  /** Each key, from where it was first carried. */
  keys: Mark<string>[];
};

export function edgesSummedAt(film: Film, at: number): GraphEdge[] {
  const found: (GraphEdge & Pick<Spell, 'order'>)[] = [];
  for (const { from, to, kind, steps, begins, ends, keys } of edgeSums(film)) {
    const count = countUpTo(begins, at) - countUpTo(ends, at);
    const first = count > 0 ? steps.find((step) => isThere(step, at)) : undefined;
    if (first)
      found.push({
        order: first.order,
        from,
        to,
        kind,
        count,
        keys: keys.slice(0, countUpTo(keys, at)).map(([, key]) => key),
      });
  }
  return inOrder(found);
}

const edgeSums = once((film: Film): EdgeSum[] => {
  const names = new Map(film.items.nodes.map((node): [string, string] => [node.is.node, node.is.name]));
  const sums = new Map<string, EdgeSum & { seen: Set<string>; last: string[] }>();
  for (const step of stepsOf(film)) {
    const { kind, keys } = step.passage;
    const [from, to] = [
      names.get(step.passage.from) ?? step.passage.from,
      names.get(step.passage.to) ?? step.passage.to,
    ];
    const id = JSON.stringify([from, to, kind]);
    const sum = sums.get(id) ?? {
      from,
      to,
      kind,
      steps: [],
      begins: [],
      ends: [],
      keys: [],
      seen: new Set<string>(),
      last: [],
    };
    sums.set(id, sum);
    sum.steps.push(step);
    sum.begins.push([step.since, null]);
    if (step.until !== Infinity) sum.ends.push([step.until, null]);
    if (step.flow.length) sum.keys.push(...step.flow);
    if (keys === sum.last) continue; // Where the state's keys stayed the same, so did the list.
    sum.last = keys;
    for (const key of keys) {
      if (sum.seen.has(key)) continue;
      sum.seen.add(key);
      sum.keys.push([step.since, key]);
    }
  }
  return [...sums.values()].map((sum) => ({
    ...sum,
    keys: firsts(sum.keys),
    ends: sum.ends.sort((a, b) => a[0] - b[0]),
  }));
});

function inOrder<Found extends Pick<Spell, 'order'>>(found: Found[]): Omit<Found, 'order'>[] {
  return found.sort((a, b) => a.order - b.order).map(({ order: _, ...rest }) => rest);
}
