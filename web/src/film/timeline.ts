/** What ran when, at a cursor: nodes with their bounds, waits, and time that nobody accounts for. */
import type { CallAbout, CallTokens, Item, NodeAbout, NodeNews, WaitAbout, WaitNews } from '@adk-prism/client/film';
import { type Film, present, upTo } from './film';

export const SECOND = 1_000_000;
/** Microseconds; shorter holes are the clock's grain. */
const LEAST_GAP = 1_000;

export type NodeItem = Item<NodeAbout, NodeNews>;

export type NodeView = Omit<NodeAbout, 'start'> & {
  status: string;
  since: number;
  until: number | null;
  /** Seconds since the run's start. */
  start: number;
  duration: number;
  tokens: CallTokens;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
  error?: string;
};
export type WaitView = {
  kind: string;
  call: string;
  since: number;
  until: number | null;
  start: number;
  end: number | null;
};
export type CallView = CallAbout & { cursor: number };
export type Gap = { from: number; until: number };
export type TimelineView = {
  start: number | null;
  now: number | null;
  nodes: NodeView[];
  waits: WaitView[];
  unaccounted: Gap[];
  /** Absent where no model call is recorded. */
  modelCalls?: CallView[];
  /** Of all nodes, as that of a node. */
  cost?: number | null;
};

export type NodeEnd = { cursor: number; status: string; end: number; derived: boolean; error?: string };

/** Return a node's end, whenever it is; null while it has none. */
export function endOf(node: NodeItem): NodeEnd | null {
  for (const [cursor, news] of node.marks) if ('status' in news) return { cursor, ...news };
  return null;
}

/** Return a node's end if it is not past a cursor. */
export function endAt(node: NodeItem, at: number): NodeEnd | null {
  const end = endOf(node);
  return end && end.cursor <= at ? end : null;
}

/** Return the time at a cursor, in microseconds. */
export function timeAt(film: Film, at: number): number {
  return film.times[Math.min(at, film.times.length) - 1] ?? 0;
}

/** Say when a cursor was, by the clock of whoever looks; empty where the run does not know. */
export function clockTime(film: Film, at: number): string {
  return film.start ? new Date(film.start * 1000 + timeAt(film, at) / 1000).toLocaleString() : '';
}

export function nodesAt(film: Film, at: number): NodeItem[] {
  return present(film.items.nodes, at);
}

export function tokensAt(node: NodeItem, at: number): CallTokens {
  const sum: CallTokens = {};
  for (const [, news] of upTo(node.marks, at)) {
    if (!('tokens' in news)) continue;
    for (const [name, count] of Object.entries(news.tokens) as [keyof CallTokens, number][]) {
      sum[name] = (sum[name] ?? 0) + count;
    }
  }
  return sum;
}

/** Return what nodes have cost up to a cursor; undefined where nothing is said of that, null if a price is missing. */
export function costAt(nodes: readonly NodeItem[], at: number): Cost {
  const costs: Cost[] = [];
  for (const { marks } of nodes) for (const [, news] of upTo(marks, at)) if ('tokens' in news) costs.push(news.cost);
  return totalCost(costs);
}

/** Undefined: nothing is said of it; null: a price is missing. */
export type Cost = number | null | undefined;

/** Return the sum of costs, to a billionth; null if one is unknown, undefined if nothing is said of any. */
export function totalCost(costs: readonly Cost[]): Cost {
  if (costs.every((cost) => cost === undefined)) return undefined;
  const known = costs.filter((cost) => typeof cost === 'number');
  return known.length < costs.length ? null : Number(known.reduce((sum, cost) => sum + cost, 0).toFixed(9));
}

export function nodeAt(node: NodeItem, at: number, now: number): NodeView {
  const end = endAt(node, at);
  const cost = costAt([node], at);
  return {
    ...node.is,
    status: end ? end.status : 'running',
    since: node.since,
    until: end ? end.cursor : null,
    start: node.is.start / SECOND,
    duration: ((end ? end.end : now) - node.is.start) / SECOND,
    tokens: tokensAt(node, at),
    ...(cost === undefined ? {} : { cost }),
    derived: node.is.derived || (end?.derived ?? false),
    ...(end?.error ? { error: end.error } : {}),
  };
}

export function waitAt(wait: Item<WaitAbout, WaitNews>, at: number): WaitView {
  const [over] = upTo(wait.marks, at);
  return {
    kind: wait.is.kind,
    call: wait.is.call,
    since: wait.since,
    until: over ? over[0] : null,
    start: wait.is.start / SECOND,
    end: over ? over[1].end / SECOND : null,
  };
}

/** Return the model calls that were over at a cursor. */
export function callsAt(film: Film, at: number): CallView[] {
  return present(film.items.calls ?? [], at).map((call) => ({
    ...call.is,
    cursor: call.since,
    start: call.is.start / SECOND,
  }));
}

export function timelineAt(film: Film, at: number): TimelineView {
  const now = timeAt(film, at);
  const calls = callsAt(film, at);
  const cost = costAt(nodesAt(film, at), at);
  return {
    start: film.start,
    now: now / SECOND,
    nodes: nodesAt(film, at).map((node) => nodeAt(node, at, now)),
    waits: present(film.items.waits, at).map((wait) => waitAt(wait, at)),
    unaccounted: gapsAt(film, at),
    ...(calls.length ? { modelCalls: calls } : {}),
    ...(cost === undefined ? {} : { cost }),
  };
}

/** Return the stretches in which no node ran. */
export function gapsAt(film: Film, at: number): Gap[] {
  const now = timeAt(film, at);
  const gaps: Gap[] = [];
  let covered = 0;
  for (const node of nodesAt(film, at).sort((a, b) => a.is.start - b.is.start)) {
    if (node.is.start - covered > LEAST_GAP) gaps.push(gap(covered, node.is.start));
    covered = Math.max(covered, endAt(node, at)?.end ?? now);
  }
  if (now - covered > LEAST_GAP) gaps.push(gap(covered, now));
  return gaps;
}

function gap(from: number, until: number): Gap {
  return { from: from / SECOND, until: until / SECOND };
}
