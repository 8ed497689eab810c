/** Where something failed: each failure once, where it was first seen.
 *
 * One failure is reported several times: by the tool's node, by its answer, by the error event of its agent, by the
 * nodes around it, and by the end of the run. */
import { grouped, once, type Film } from './film';
import { endOf, SECOND, timeAt, totalCost } from './timeline';

type Report = {
  cursor: number;
  /** Earlier failures from here on, with the same code, are this one. */
  since: number;
  code: string;
  call: string;
};

/** Return the entries at which something failed, in order. The rules are those of `features/page/graph.py`. */
export const failuresOf = once((film: Film): readonly number[] => {
  const reports = grouped([...answers(film), ...errors(film), ...nodes(film), ...end(film)], ({ cursor }) => cursor);
  const calls = new Set<string>();
  const byCode = new Map<string, number>();
  let last = 0;
  const found: number[] = [];
  for (const [cursor, group] of [...reports].sort((a, b) => a[0] - b[0])) {
    if (!group.some(({ call, code, since }) => calls.has(call) || (code ? (byCode.get(code) ?? 0) : last) >= since))
      found.push(cursor);
    last = cursor;
    for (const { call, code } of group) {
      if (call) calls.add(call);
      byCode.set(code, cursor);
    }
  }
  return found;
});

function answers(film: Film): Report[] {
  return film.items.said.flatMap(({ is, marks }) =>
    marks.flatMap(([cursor, news]) =>
      typeof news === 'object' && news?.status === 'failed'
        ? [{ cursor, since: cursor, code: '', call: String(is.call) }]
        : [],
    ),
  );
}

/** An error is reported after the failure of what ran last: a tool, or a node inside. */
function errors(film: Film): Report[] {
  return film.items.said
    .filter(({ is }) => is.kind === 'error')
    .map(({ is, since }) => ({ cursor: since, since: lastStart(film, since), code: String(is.code), call: '' }));
}

function lastStart(film: Film, cursor: number): number {
  return film.items.nodes.findLast(({ since }) => since < cursor)?.since ?? 1;
}

function nodes(film: Film): Report[] {
  return film.items.nodes.flatMap((node) => {
    const end = endOf(node);
    if (end?.status !== 'failed') return [];
    const call = node.is.kind === 'tool' ? node.is.call : '';
    return [{ cursor: end.cursor, since: node.since, code: end.error ?? '', call }];
  });
}

function end({ ended }: Film): Report[] {
  return ended?.outcome === 'failed' ? [{ cursor: ended.cursor, since: 1, code: ended.code, call: '' }] : [];
}

/** What is in a stretch of a run: from one entry to another, both included. */
export type Range = { from: number; to: number };

type RangeSummary = {
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
    if (is.kind === 'call' && !is.earlier && isIn(since))
      tools.set(String(is.name), (tools.get(String(is.name)) ?? 0) + 1);
  }
  const spent = film.items.nodes.flatMap(({ marks }) =>
    marks.flatMap(([cursor, news]) => ('tokens' in news && isIn(cursor) ? [news] : [])),
  );
  const cost = totalCost(spent.map((each) => each.cost));
  return {
    events: to - from + 1,
    duration: (timeAt(film, to) - timeAt(film, from)) / SECOND,
    tools: [...tools].sort((a, b) => b[1] - a[1]),
    toolCalls: [...tools.values()].reduce((sum, count) => sum + count, 0),
    modelCalls: (film.items.calls ?? []).filter(({ since }) => isIn(since)).length,
    tokens: spent.reduce((sum, { tokens }) => sum + (tokens.total ?? 0), 0),
    ...(cost === undefined ? {} : { cost }),
    failures: failuresOf(film).filter(isIn).length,
  };
}
