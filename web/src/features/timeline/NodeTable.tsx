/** The nodes as a table: for screen readers, and for whoever wants the numbers. */
import { memo, useCallback, useEffect, useRef, useState } from 'react';
import { type Film, once } from '../../film/film';
import type { Range } from '../../film/failures';
import { costAt, endOf, nodeAt, nodesAt, SECOND, timeAt, type NodeItem } from '../../film/timeline';
import { duration, number, plural, callTokens, costNumber, costWords } from '../../ui/format';

/** The rows of the table of nodes: each below its parent, and a tool that only runs an agent as that agent. */
type TableRow = { item: NodeItem; depth: number };

/** Return all nodes of a run in the order of the table. */
export const tableRows = once((film: Film): TableRow[] => {
  const children = new Map<string, NodeItem[]>();
  for (const node of film.items.nodes) {
    const siblings = children.get(node.is.parent);
    if (siblings) siblings.push(node);
    else children.set(node.is.parent, [node]);
  }
  const known = new Set(film.items.nodes.map(({ is }) => is.node));
  const rows: TableRow[] = [];
  const waiting = film.items.nodes
    .filter(({ is }) => !known.has(is.parent))
    .map((item) => ({ item, depth: 0 }))
    .reverse();
  // A node is taken once, whoever names it as a parent.
  const taken = new Set<string>();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { item, depth } = next;
    if (taken.has(item.is.node)) continue;
    taken.add(item.is.node);
    const inside = children.get(item.is.node) ?? [];
    const isMerged = item.is.kind === 'tool' && inside.some(({ is }) => is.call === item.is.call && is.kind !== 'tool');
    if (!isMerged) rows.push(next);
    for (const child of inside.toReversed()) waiting.push({ item: child, depth: isMerged ? depth : depth + 1 });
  }
  // What stands inside of itself, as a damaged recording may say, hangs on nothing.
  for (const item of film.items.nodes) if (!taken.has(item.is.node)) rows.push({ item, depth: 0 });
  return rows;
});

const SHOWN = 100; // A table of thousands of rows would make every move of the playhead slow.

type Props = {
  film: Film;
  at: number /** Only nodes that ran in it are listed. */;
  range: Range | null;
  select(id: string): void;
  seek(cursor: number): void;
};

export function NodeTable({ film, at, range, select, seek }: Props) {
  const [shown, setShown] = useState(SHOWN);
  const [pick, go] = [useLatest(select), useLatest(seek)];
  const nodes = tableRows(film).filter(
    ({ item }) =>
      item.since <= at && (!range || (item.since <= range.to && (endOf(item)?.cursor ?? film.last) >= range.from)),
  );
  const now = timeAt(film, at);
  const total = costAt(nodesAt(film, at), at);
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Nodes as a table">
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Kind</th>
            <th scope="col">Status</th>
            <th scope="col" className="number">
              Start
            </th>
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col" className="number">
              Tokens
            </th>
            {total !== undefined && (
              <th scope="col" className="number">
                Cost
              </th>
            )}
            <th scope="col">Event</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, shown).map(({ item, depth }) => {
            const { status, tokens, cost, derived, duration: took } = nodeAt(item, at, now);
            return (
              <Row
                key={item.is.node}
                item={item}
                depth={depth}
                status={status}
                isInferred={derived}
                took={duration(took)}
                tokens={tokens.total}
                kinds={callTokens(tokens)}
                cost={total === undefined ? undefined : (cost ?? null)}
                select={pick}
                seek={go}
              />
            );
          })}
        </tbody>
      </table>
      {total !== undefined && <p className="muted">{`In all: ${costWords(total)}`}</p>}
      {nodes.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + SHOWN * 5)}>
          {plural(nodes.length - shown, 'more node')}
        </button>
      )}
    </div>
  );
}

type RowProps = {
  item: NodeItem;
  depth: number;
  status: string;
  isInferred: boolean;
  took: string;
  tokens: number | undefined;
  kinds: string;
  cost: number | null | undefined;
  select(id: string): void;
  seek(cursor: number): void;
};

/** A row is drawn again when its node began to look otherwise, not whenever the playhead moves. */
const Row = memo(function Row({ item, depth, status, isInferred, took, tokens, kinds, cost, select, seek }: RowProps) {
  const { name, kind, start } = item.is;
  const error = status === 'running' ? '' : (endOf(item)?.error ?? '');
  return (
    <tr>
      <th scope="row" style={{ paddingLeft: 8 + Math.min(depth, 6) * 12 }}>
        <button type="button" className="link" onClick={() => select(name)}>
          {name}
        </button>
      </th>
      <td>{kind}</td>
      <td data-kind={status === 'failed' ? 'error' : status === 'waiting' ? 'approval' : 'neutral'}>
        {status}
        {error ? `: ${error}` : ''}
        {isInferred ? ` (inferred)` : ''}
      </td>
      <td className="number">+{duration(start / SECOND)}</td>
      <td className="number">{took}</td>
      <td className="number" title={kinds}>
        {tokens === undefined ? '–' : number(tokens)}
      </td>
      {cost !== undefined && <td className="number">{cost === null ? '–' : costNumber(cost)}</td>}
      <td>
        <button type="button" className="link" onClick={() => seek(item.since)}>
          {`event ${item.since}`}
        </button>
      </td>
    </tr>
  );
});

/** Return a function that stays the same, and does what the last one given does. */
function useLatest<Argument>(act: (argument: Argument) => void): (argument: Argument) => void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  return useCallback((argument) => latest.current(argument), []);
}
