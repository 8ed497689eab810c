/** The nodes as a table: for screen readers, and for whoever wants the numbers. */
import { memo, useCallback, useEffect, useRef, useState } from 'react';
import type { Film } from '../../film/film';
import type { Range } from '../../film/range';
import { costAt, endOf, nodeAt, nodesAt, SECOND, timeAt, type NodeItem } from '../../film/timeline';
import { tableRows } from './tableRows';
import { duration, number, plural } from '../../ui/format';
import { callTokens, costNumber, costWords } from '../../ui/tokens';
import * as words from '../../words/timeline';

const SHOWN = 100; // A table of thousands of rows would make every move of the playhead slow.

type Props = { film: Film; at: number; /** Only nodes that ran in it are listed. */ range: Range | null; select(id: string): void; seek(cursor: number): void };

export function NodeTable({ film, at, range, select, seek }: Props) {
  const [shown, setShown] = useState(SHOWN);
  const [pick, go] = [useLatest(select), useLatest(seek)];
  const nodes = tableRows(film).filter(({ item }) => item.since <= at && (!range || (item.since <= range.to && (endOf(item)?.cursor ?? film.last) >= range.from)));
  const now = timeAt(film, at);
  const total = costAt(nodesAt(film, at), at);
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={words.nodesAsATable}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.node}</th>
            <th scope="col">{words.kind}</th>
            <th scope="col">{words.status}</th>
            <th scope="col" className="number">{words.start}</th>
            <th scope="col" className="number">{words.duration}</th>
            <th scope="col" className="number">{words.tokens}</th>
            {total !== undefined && <th scope="col" className="number">{words.cost}</th>}
            <th scope="col">{words.event}</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, shown).map(({ item, depth }) => {
            const { status, tokens, cost, derived, duration: took } = nodeAt(item, at, now);
            return <Row key={item.is.node} item={item} depth={depth} status={status} isInferred={derived} took={duration(took)} tokens={tokens.total} kinds={callTokens(tokens)} cost={total === undefined ? undefined : (cost ?? null)} select={pick} seek={go} />;
          })}
        </tbody>
      </table>
      {total !== undefined && <p className="muted">{words.inAll(costWords(total))}</p>}
      {nodes.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + SHOWN * 5)}>
          {plural(nodes.length - shown, words.moreNode)}
        </button>
      )}
    </div>
  );
}

type RowProps = { item: NodeItem; depth: number; status: string; isInferred: boolean; took: string; tokens: number | undefined; kinds: string; cost: number | null | undefined; select(id: string): void; seek(cursor: number): void };

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
        {isInferred ? ` ${words.inferred}` : ''}
      </td>
      <td className="number">+{duration(start / SECOND)}</td>
      <td className="number">{took}</td>
      <td className="number" title={kinds}>{tokens === undefined ? '–' : number(tokens)}</td>
      {cost !== undefined && <td className="number">{cost === null ? '–' : costNumber(cost)}</td>}
      <td>
        <button type="button" className="link" onClick={() => seek(item.since)}>
          {words.eventNumber(item.since)}
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
