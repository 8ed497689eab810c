/** What is in a stretch of a run: from one entry to another, both included. */
import { failuresOf } from './failures';
import type { Film } from './film';
import { SECOND, timeAt, totalCost } from './timeline';

export type Range = { from: number; to: number };

export type RangeSummary = {
  events: number;
  /** In seconds. */
  duration: number;
  /** The tools that were called, and how often, the most frequent first. */
  tools: [name: string, count: number][];
  toolCalls: number;
  modelCalls: number;
  tokens: number;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
  failures: number;
};

export function rangeSummary(film: Film, { from, to }: Range): RangeSummary {
  const isIn = (cursor: number) => from <= cursor && cursor <= to;
  const tools = new Map<string, number>();
  for (const { is, since } of film.items.said) {
    if (is.kind === 'call' && !is.earlier && isIn(since)) tools.set(String(is.name), (tools.get(String(is.name)) ?? 0) + 1);
  }
  const spent = film.items.nodes.flatMap(({ marks }) => marks.flatMap(([cursor, news]) => ('tokens' in news && isIn(cursor) ? [news] : [])));
  const costs = spent.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  return {
    events: to - from + 1,
    duration: (timeAt(film, to) - timeAt(film, from)) / SECOND,
    tools: [...tools].sort((a, b) => b[1] - a[1]),
    toolCalls: [...tools.values()].reduce((sum, count) => sum + count, 0),
    modelCalls: (film.items.calls ?? []).filter(({ since }) => isIn(since)).length,
    tokens: spent.reduce((sum, { tokens }) => sum + (tokens.total ?? 0), 0),
    ...(costs.length ? { cost: totalCost(costs) } : {}),
    failures: failuresOf(film).filter(isIn).length,
  };
}
