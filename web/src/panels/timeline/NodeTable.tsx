/** The nodes as a table: for screen readers, and for whoever wants the numbers. */
import { useState } from 'react';
import type { Film } from '../../film/film';
import { nodeAt, nodesAt, timeAt } from '../../film/timeline';
import { duration, number, plural } from '../../ui/time';

const SHOWN = 100; // A table of thousands of rows would make every move of the playhead slow.

type Props = { film: Film; at: number; select(id: string): void; seek(cursor: number): void };

export function NodeTable({ film, at, select, seek }: Props) {
  const [shown, setShown] = useState(SHOWN);
  const nodes = nodesAt(film, at);
  const now = timeAt(film, at);
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Nodes as a table">
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Kind</th>
            <th scope="col">Status</th>
            <th scope="col" className="number">Start</th>
            <th scope="col" className="number">Duration</th>
            <th scope="col" className="number">Tokens</th>
            <th scope="col">Event</th>
          </tr>
        </thead>
        <tbody>
          {nodes.slice(0, shown).map((item) => {
            const node = nodeAt(item, at, now);
            return (
              <tr key={node.node}>
                <th scope="row" style={{ paddingLeft: 8 + Math.min(node.depth, 6) * 12 }}>
                  <button type="button" className="link" onClick={() => select(node.name)}>
                    {node.name}
                  </button>
                </th>
                <td>{node.kind}</td>
                <td data-kind={node.status === 'failed' ? 'error' : node.status === 'waiting' ? 'approval' : 'neutral'}>
                  {node.status}
                  {node.error ? `: ${node.error}` : ''}
                  {node.derived ? ' (inferred)' : ''}
                </td>
                <td className="number">+{duration(node.start)}</td>
                <td className="number">{duration(node.duration)}</td>
                <td className="number">{node.tokens.total === undefined ? '–' : number(node.tokens.total)}</td>
                <td>
                  <button type="button" className="link" onClick={() => seek(node.since)}>
                    event {node.since}
                  </button>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {nodes.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + SHOWN * 5)}>
          {plural(nodes.length - shown, 'more node')}
        </button>
      )}
    </div>
  );
}
