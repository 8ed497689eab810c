/**
 * The drawing at a moment, as React Flow wants it. What looks as it did stays the same object, and is not drawn again.
 */
import { MarkerType, Position } from '@xyflow/react';
import { once, type Film } from '../../film/film';
import { duration } from '../../ui/format';
import { writtenBy, type Drawing, type Moment } from './drawing';
import type { Layout, Place } from './layout';
import type { EdgeData, EdgeViewType, NodeViewType } from './elements';

/** Keeps each thing for as long as what it was made of is the same. */
export class Kept<Made> {
  private readonly known = new Map<string, { of: readonly unknown[]; made: Made }>();

  get(id: string, of: readonly unknown[], make: () => Made): Made {
    let found = this.known.get(id);
    if (!found || found.of.some((value, index) => !Object.is(value, of[index])))
      this.known.set(id, (found = { of, made: make() }));
    return found.made;
  }
}

/** Since when each node is there for the last time, by its name and by its id. */
const lastSeen = once(
  (film: Film) =>
    new Map(
      film.items.nodes.flatMap(
        ({ is, since }) =>
          [
            [is.name, since],
            [is.node, since],
          ] as [string, number][],
      ),
    ),
);

export function nodesOf(
  film: Film,
  at: number,
  { vertices }: Drawing,
  moment: Moment,
  layout: Layout,
  selected: string | null,
  kept: Kept<NodeViewType>,
): NodeViewType[] {
  return vertices.map((vertex) => {
    const standing = moment.standings.get(vertex.id) ?? null;
    const later = (lastSeen(film).get(vertex.id) ?? 0) > at;
    const picked = selected === vertex.name;
    const look = standing && `${standing.status} ${standing.runs} ${standing.failures} ${duration(standing.duration)}`;
    return kept.get(vertex.id, [vertex, layout, look, later, picked], () => ({
      id: vertex.id,
      type: 'vertex',
      ...placed(layout.places.get(vertex.id)!, layout),
      ariaLabel: `${vertex.name}, ${standing?.status ?? 'has not run'}`,
      data: { vertex, standing, direction: layout.direction, later, picked },
    }));
  });
}

/** The places of edges are known, so that nothing has to be measured before they are drawn. */
function placed(
  { x, y, width, height }: Place,
  { direction }: Layout,
): Pick<NodeViewType, 'position' | 'width' | 'height' | 'handles'> {
  const across = direction !== 'TB';
  const near = across ? { x: 0, y: height / 2 } : { x: width / 2, y: 0 };
  const far = across ? { x: width, y: height / 2 } : { x: width / 2, y: height };
  return {
    position: { x, y },
    width,
    height,
    handles: [
      { type: 'target', position: across ? Position.Left : Position.Top, ...near, width: 1, height: 1 },
      { type: 'source', position: across ? Position.Right : Position.Bottom, ...far, width: 1, height: 1 },
    ],
  };
}

export function edgesOf(
  film: Film,
  drawing: Drawing,
  moment: Moment,
  { ways }: Layout,
  pointer: Pick<EdgeData, 'lit' | 'hover' | 'pick'>,
  kept: Kept<EdgeViewType>,
): EdgeViewType[] {
  return drawing.links.map((link) => {
    const { id, from, to, kind } = link;
    const traffic = moment.traffic.get(id);
    const running = traffic !== undefined && moment.standings.get(to)?.status === 'running';
    const carried = traffic?.keys ?? [];
    const lit = pointer.lit !== null && carried.includes(pointer.lit) ? pointer.lit : null;
    // Keys only ever join: as many are the same.
    const of = [film, link, ways, traffic?.count, carried.length, running, lit, pointer.pick];
    return kept.get(id, of, () => ({
      id,
      source: from,
      target: to,
      type: 'passage',
      className: [kind, traffic ? 'seen' : 'declared', running ? 'running' : '', lit === null ? '' : 'lit'].join(' '),
      markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: 'var(--line-strong)' },
      data: {
        kind,
        way: ways.get(id)!,
        count: traffic?.count ?? 0,
        keys: ownFirst(film, nameOf(drawing, from), carried),
        running,
        ...pointer,
        lit,
      },
    }));
  });
}

function ownFirst(film: Film, writer: string, keys: readonly string[]): string[] {
  const own = writtenBy(film).get(writer);
  return own ? [...keys].sort((a, b) => Number(own.has(b)) - Number(own.has(a))) : [...keys];
}

const namesOf = once((drawing: Drawing) => new Map(drawing.vertices.map(({ id, name }) => [id, name])));

function nameOf(drawing: Drawing, id: string): string {
  return namesOf(drawing).get(id) ?? id;
}
