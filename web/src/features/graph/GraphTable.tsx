/** The graph in words: for screen readers, and for whoever reads better than looks. */
import { memo } from 'react';
import { duration } from '../../ui/format';
import type { Drawing, Moment } from './drawing';

const SHOWN = 200; // Rows; a larger graph is told by the timeline's table.

/** `select` where the table is seen: a hidden one has nothing to press. */
type Props = { drawing: Drawing; moment: Moment; select?: (name: string) => void };

export const GraphTable = memo(function GraphTable({ drawing, moment, select }: Props) {
  const names = new Map(drawing.vertices.map(({ id, name }) => [id, name]));
  return (
    <>
      <table>
        <caption>Nodes</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Kind</th>
            <th scope="col">Status</th>
            <th scope="col" className="number">
              Runs
            </th>
            <th scope="col" className="number">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {drawing.vertices.slice(0, SHOWN).map(({ id, name, kind }) => {
            const standing = moment.standings.get(id);
            return (
              <VertexRow
                key={id}
                select={select}
                name={name}
                kind={kind}
                status={standing?.status ?? 'has not run'}
                runs={standing?.runs ?? 0}
                took={standing ? duration(standing.duration) : '–'}
              />
            );
          })}
        </tbody>
      </table>
      <table>
        <caption>Edges</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Kind</th>
            <th scope="col" className="number">
              Times
            </th>
            <th scope="col">State keys</th>
          </tr>
        </thead>
        <tbody>
          {drawing.links.slice(0, SHOWN).map(({ id, from, to, kind }) => {
            const traffic = moment.traffic.get(id);
            return (
              <LinkRow
                key={id}
                from={names.get(from) ?? from}
                to={names.get(to) ?? to}
                kind={traffic ? kind : `${kind}, declared`}
                count={traffic?.count ?? 0}
                keys={traffic?.keys.join(', ') ?? ''}
              />
            );
          })}
        </tbody>
      </table>
      {(drawing.vertices.length > SHOWN || drawing.links.length > SHOWN) && (
        <p className="muted">{`The first ${SHOWN} of each are listed; the timeline’s table has every node.`}</p>
      )}
    </>
  );
});

type VertexRowProps = {
  select: Props['select'];
  name: string;
  kind: string;
  status: string;
  runs: number;
  took: string;
};

const VertexRow = memo(function VertexRow({ select, name, kind, status, runs, took }: VertexRowProps) {
  return (
    <tr>
      <th scope="row">
        {select ? (
          <button type="button" className="link" title="Show its details" onClick={() => select(name)}>
            {name}
          </button>
        ) : (
          name
        )}
      </th>
      <td>{kind}</td>
      <td>{status}</td>
      <td className="number">{runs}</td>
      <td className="number">{took}</td>
    </tr>
  );
});

type LinkRowProps = { from: string; to: string; kind: string; count: number; keys: string };

const LinkRow = memo(function LinkRow({ from, to, kind, count, keys }: LinkRowProps) {
  return (
    <tr>
      <th scope="row">{from}</th>
      <td>{to}</td>
      <td>{kind}</td>
      <td className="number">{count}</td>
      <td className="wrap">{keys}</td>
    </tr>
  );
});
