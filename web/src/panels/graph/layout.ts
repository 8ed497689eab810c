/** Where the vertices lie: in the order of what leads to what, from left to right or from top to bottom. */
import dagre from '@dagrejs/dagre';
import { END } from '../../film/graph';
import type { Drawing, Vertex } from './drawing';
import { outlineOf } from './treeLayout';
import { treeOf } from './tree';

export type Place = { x: number; y: number; width: number; height: number };
/** From left to right, from top to bottom, or a line each, as in a list of contents. */
export type Direction = 'LR' | 'TB' | 'lines';
export type Point = { x: number; y: number };
export type Way = {
  points: Point[];
  /** Where its label is: around this point, or from it on. */
  label: Point & { from?: true };
};
export type Layout = {
  direction: Direction;
  width: number;
  height: number;
  places: Map<string, Place>;
  /** The way of each link around the vertices, and where there is room for its label, by its id. */
  ways: Map<string, Way>;
};

const SIZES: Partial<Record<Vertex['kind'], [width: number, height: number]>> = {
  start: [58, 26],
  end: [58, 26],
  tool: [148, 42],
};
const SIZE: [number, number] = [152, 48];

export function sizeOf(kind: Vertex['kind']): [width: number, height: number] {
  return SIZES[kind] ?? SIZE;
}

const LOOP = 36; // How far the way from a vertex to itself goes out to the right.

const LABEL = { width: 96, height: 36, labelpos: 'c' };

/** Return the way of an edge; without a label, its middle is where one would be. */
function wayOf({ points, x, y }: Partial<Point> & { points: Point[] }): Way {
  const middle = points[points.length >> 1] ?? { x: 0, y: 0 };
  return { points, label: { x: x ?? middle.x, y: y ?? middle.y } };
}

export function loopAt({ x, y, width, height }: Place): Way {
  const right = x + width;
  const points = [
    { x: right, y: y + height * 0.3 },
    { x: right + LOOP, y: y + height * 0.1 },
    { x: right + LOOP, y: y + height * 0.9 },
    { x: right, y: y + height * 0.7 },
  ];
  return { points, label: { x: right + LOOP, y: y + height / 2 } };
}

/** What is drawn smaller cannot be read at ease. */
const READABLE = 0.85;

/** Return the layout that is seen larger in a room of this shape; in a small one, a tree as lines, which can be scrolled. */
export function layoutFor(drawing: Drawing, room: { width: number; height: number }, labelled: ReadonlySet<string> = new Set()): Layout {
  const scale = ({ width, height }: Layout) => Math.min(1, room.width / width, room.height / height);
  const across = treeOf(drawing, labelled) ?? layoutOf(drawing, 'LR', labelled);
  const down = layoutOf(drawing, 'TB', labelled);
  const larger = scale(down) > scale(across) ? down : across;
  const lines = scale(larger) < READABLE ? outlineOf(drawing, labelled) : null;
  return lines && room.width / lines.width >= READABLE ? lines : larger;
}

function layoutOf({ vertices, links }: Drawing, direction: 'LR' | 'TB', labelled: ReadonlySet<string>): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction, nodesep: 14, ranksep: direction === 'LR' ? 56 : 44, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  // The library keeps names as keys of plain objects: an agent called `__proto__` would be everybody's prototype.
  const names = new Map(vertices.map(({ id }, index) => [id, `vertex ${index}`]));
  const named = (id: string) => names.get(id) ?? '';
  for (const { id, kind } of vertices) {
    const [width, height] = sizeOf(kind);
    graph.setNode(named(id), { width, height });
  }
  for (const [index, { id, from, to }] of links.entries()) if (from !== to) graph.setEdge(named(from), named(to), { weight: to === END ? 0 : 2, ...(labelled.has(id) ? LABEL : {}) }, `link ${index}`);
  // The end comes after everything, in the middle, whatever leads to it.
  if (names.has(END)) {
    for (const { id } of vertices) if (id !== END && !graph.outEdges(named(id))?.length) graph.setEdge(named(id), named(END), { weight: 1 }, 'to the end');
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
    from === to ? loopAt(placeOf.get(from)!) : wayOf(graph.edge(named(from), named(to), `link ${index}`) as Partial<Point> & { points: Point[] }),
  ]);
  return { direction, width: width + LOOP, height, places: placeOf, ways: new Map(ways) };
}
