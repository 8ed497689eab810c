/** The graph in words: for screen readers, and for whoever reads better than looks. */
import { duration } from '../../ui/time';
import type { Drawing, Moment } from './drawing';

const SHOWN = 200; // Rows; a larger graph is told by the timeline's table.

export function GraphTable({ drawing, moment }: { drawing: Drawing; moment: Moment }) {
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
            <th scope="col" className="number">Runs</th>
            <th scope="col" className="number">Time</th>
          </tr>
        </thead>
        <tbody>
          {drawing.vertices.slice(0, SHOWN).map(({ id, name, kind }) => {
            const standing = moment.standings.get(id);
            return (
              <tr key={id}>
                <th scope="row">{name}</th>
                <td>{kind}</td>
                <td>{standing?.status ?? 'has not run'}</td>
                <td className="number">{standing?.runs ?? 0}</td>
                <td className="number">{standing ? duration(standing.duration) : '–'}</td>
              </tr>
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
            <th scope="col" className="number">Times</th>
            <th scope="col">Keys of the state</th>
          </tr>
        </thead>
        <tbody>
          {drawing.links.slice(0, SHOWN).map(({ id, from, to, kind }) => {
            const traffic = moment.traffic.get(id);
            return (
              <tr key={id}>
                <th scope="row">{names.get(from)}</th>
                <td>{names.get(to)}</td>
                <td>{traffic ? kind : `${kind}, declared`}</td>
                <td className="number">{traffic?.count ?? 0}</td>
                <td className="wrap">{traffic?.keys.join(', ')}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}
