/** Where the vertices lie: in the order of what leads to what, from left to right or from top to bottom. */
import dagre from '@dagrejs/dagre';
import { END } from '../../film/graph';
import { type Drawing, labelSize, sizeOf } from './drawing';
import { outlineOf, treeOf } from './tree';

export type Place = { x: number; y: number; width: number; height: number };
/** From left to right, from top to bottom, or a line each, as in a list of contents. */
export type Direction = 'LR' | 'TB' | 'lines';
export type Point = { x: number; y: number };
export type Way = {
  points: Point[];
  label: Label;
};
/**
 * Where the label of a way is: around a point, or from it on; and how many keys it names, in a line or below one
 * another.
 */
export type Label = Point & { from?: true; shown: number; isLine: boolean };
/** The keys that go along a link at any time, by its id. */
export type Labels = ReadonlyMap<string, readonly string[]>;
export type Layout = {
  direction: Direction;
  width: number;
  height: number;
  places: Map<string, Place>;
  /** The way of each link around the vertices, and where there is room for its label, by its id. */
  ways: Map<string, Way>;
};

const LOOP = 36; // How far the way from a vertex to itself goes out to the right.

/** Between two layers there is room for two keys. */
const SHOWN = 2;

/** Return what the library leaves room for. */
function labelOf(keys: readonly string[] | undefined) {
  return keys?.length ? { ...labelSize(keys, SHOWN, false), labelpos: 'c' } : {};
}

/** Return the way of an edge; without a label, its middle is where one would be. */
function wayOf({ points, x, y }: Partial<Point> & { points: Point[] }): Way {
  const middle = points[points.length >> 1] ?? { x: 0, y: 0 };
  return { points, label: { x: x ?? middle.x, y: y ?? middle.y, shown: SHOWN, isLine: false } };
}

export function loopAt({ x, y, width, height }: Place): Way {
  const right = x + width;
  const points = [
    { x: right, y: y + height * 0.3 },
    { x: right + LOOP, y: y + height * 0.1 },
    { x: right + LOOP, y: y + height * 0.9 },
    { x: right, y: y + height * 0.7 },
  ];
  return { points, label: { x: right + LOOP, y: y + height / 2, shown: 1, isLine: true } };
}

/** What is drawn smaller cannot be read at ease. */
const READABLE = 0.85;

/**
 * Return the layout that is seen larger in a room of this shape; in a small one, a tree as lines, which can be
 * scrolled.
 */
export function layoutFor(
  drawing: Drawing,
  room: { width: number; height: number },
  labels: Labels = new Map(),
): Layout {
  const scale = ({ width, height }: Layout) => Math.min(1, room.width / width, room.height / height);
  const across = treeOf(drawing, labels) ?? layoutOf(drawing, 'LR', labels);
  const down = layoutOf(drawing, 'TB', labels);
  const larger = scale(down) > scale(across) ? down : across;
  const lines = scale(larger) < READABLE ? outlineOf(drawing, labels, room.height) : null;
  // Lines are scrolled: how large they are seen is a matter of the width alone.
  return lines && Math.min(READABLE, room.width / lines.width) > scale(larger) ? lines : larger;
}

function layoutOf({ vertices, links }: Drawing, direction: 'LR' | 'TB', labels: Labels): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 14, ranksep: direction === 'LR' ? 56 : 44, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  // The library keeps names as keys of plain objects: an agent called `__proto__` would be everybody's prototype.
  const names = new Map(vertices.map(({ id }, index) => [id, `vertex ${index}`]));
  const named = (id: string) => names.get(id) ?? '';
  for (const vertex of vertices) graph.setNode(named(vertex.id), sizeOf(vertex));
  for (const [index, { id, from, to }] of links.entries())
    if (from !== to)
      graph.setEdge(
        named(from),
        named(to),
        { weight: to === END ? 0 : 2, ...labelOf(labels.get(id)) },
        `link ${index}`,
      );
  // The end comes after everything, in the middle, whatever leads to it.
  if (names.has(END)) {
    for (const { id } of vertices)
      if (id !== END && !graph.outEdges(named(id))?.length)
        graph.setEdge(named(id), named(END), { weight: 1 }, 'to the end');
  }
  dagre.layout(graph);
  const { width = 1, height = 1 } = graph.graph();
  const places = vertices.map(({ id }): [string, Place] => {
    const { x, y, width, height } = graph.node(named(id)) as Place;
    return [id, { x: x - width / 2, y: y - height / 2, width, height }];
  });
  const placeOf = new Map(places);
  const ways = links.map(({ id, from, to }, index): [string, Way] => [
    id,
    from === to
      ? loopAt(placeOf.get(from)!)
      : wayOf(graph.edge(named(from), named(to), `link ${index}`) as Partial<Point> & { points: Point[] }),
  ]);
  return { direction, width: width + LOOP, height, places: placeOf, ways: new Map(ways) };
}
