/**
 * A layout for what is a tree, as most runs are: each vertex in the middle of what it leads to, which stands below one
 * another.
 * The end is beside the start: whoever was first asked answers last.
 */
import { END, START } from '../../film/graph';
import { type Drawing, labelSize, sizeOf, type Size, type Link, lineWidth } from './drawing';
import { loopAt, type Labels, type Layout, type Place, type Point, type Way } from './layout';

/**
 * A layout for a tree in a small room: a line for each vertex, further in the deeper it hangs. The end comes last;
 * where that would be out of sight, it stands beside the start.
 */
const LINE = { width: 200, height: 28, between: 6 };
const INDENT = 22;
const TREE_MARGIN = 8;
const TREE_TRUNK = 10; // From the left of a vertex to what hangs on it.
const BEND = 8;

/** Return the layout for a room of some height, or null where the drawing is no tree. */
export function outlineOf(drawing: Drawing, labels: Labels, room: number): Layout | null {
  const branches = branchesOf(drawing);
  if (!branches) return null;
  const { vertices, links } = drawing;
  const known = new Map(vertices.map((vertex) => [vertex.id, vertex]));
  const isPill = (id: string) => ['start', 'end'].includes(known.get(id)!.kind);
  const line = Math.max(LINE.width, ...vertices.filter(({ id }) => !isPill(id)).map(lineWidth));
  const places = new Map<string, Place>();
  const put = (id: string, depth: number): void => {
    const width = isPill(id) ? sizeOf(known.get(id)!).width : line;
    places.set(id, {
      x: TREE_MARGIN + depth * INDENT,
      y: TREE_MARGIN + places.size * (LINE.height + LINE.between),
      width,
      height: LINE.height,
    });
    for (const child of branches.children.get(id) ?? []) put(child, depth + 1);
  };
  for (const [id, depth] of branches.depths) if (depth === 0) put(id, 0);
  if (known.has(END)) {
    const isTall = (places.size + 1) * (LINE.height + LINE.between) + 2 * TREE_MARGIN > room;
    if (isTall && endsAtOnce(drawing, places))
      places.set(END, besideStart(places.get(START)!, sizeOf(known.get(END)!).width));
    else put(END, 0);
  }
  const ways = new Map(links.map((link): [string, Way] => [link.id, wayOf(link, places)]));
  const edges = [...places.values()].map((place) => place.x + place.width);
  const beside = links.map(
    ({ id }) => ways.get(id)!.label.x + (labels.get(id)?.length ? labelSize(labels.get(id)!, 1, true).width : 0),
  );
  const width = Math.max(...edges, ...beside) + TREE_MARGIN;
  const inOrder = new Map(vertices.map(({ id }): [string, Place] => [id, places.get(id)!]));
  return {
    direction: 'lines',
    width,
    height: Math.max(...[...places.values()].map((place) => place.y + place.height)) + TREE_MARGIN,
    places: inOrder,
    ways,
  };
}

/** Tell whether only what stands right below the start leads to the end. */
function endsAtOnce({ links }: Drawing, places: ReadonlyMap<string, Place>): boolean {
  const [start, first] = [...places.keys()];
  return start === START && links.every(({ from, to }) => to !== END || from === first);
}

function besideStart({ x, y, width, height }: Place, wide: number): Place {
  return { x: x + width + INDENT, y, width: wide, height };
}

function wayOf({ from, to }: Link, places: ReadonlyMap<string, Place>): Way {
  const [above, below] = [places.get(from)!, places.get(to)!];
  if (above === below) return loopAt(above);
  const label = {
    x: below.x + below.width + TREE_MARGIN,
    y: below.y + below.height / 2,
    from: true as const,
    shown: 1,
    isLine: true,
  };
  const x = above.x + TREE_TRUNK;
  const start = { x, y: above.y + above.height };
  // The end is above: straight up to it.
  if (to === END && below.y < above.y) {
    const middle = below.x + below.width / 2;
    return {
      points: [
        { x: middle, y: above.y },
        { x: middle, y: below.y + below.height },
      ],
      label,
    };
  }
  // The end stands further out than what leads to it: its way comes from above.
  if (to === END) return { points: [start, { x, y: below.y }], label };
  return { points: [start, { x, y: label.y - BEND }, { x, y: label.y }, { x: below.x, y: label.y }], label };
}

const BETWEEN = { column: 28, row: 10 };
const TRUNK = 12; // From a vertex to the line that its children hang on.
const MARGIN = 8;

type Branches = {
  children: ReadonlyMap<string, readonly string[]>;
  /** How far from a root each vertex is, the roots first; the end is none of them. */
  depths: ReadonlyMap<string, number>;
};

/** Return what hangs on what, or null where something is led to from two sides. */
function branchesOf({ vertices, links }: Drawing): Branches | null {
  const children = new Map<string, string[]>();
  const parents = new Map<string, string>();
  for (const { from, to } of links) {
    if (from === to || to === END || parents.get(to) === from) continue;
    if (parents.has(to) || from === END || to === START) return null;
    parents.set(to, from);
    children.set(from, [...(children.get(from) ?? []), to]);
  }
  const depths = depthsFrom(
    vertices.map(({ id }) => id).filter((id) => id !== END && !parents.has(id)),
    children,
  );
  const isWhole = depths.size === vertices.filter(({ id }) => id !== END).length; // A circle hangs on nothing.
  return isWhole ? { children, depths } : null;
}

/** Return the layout, or null where the drawing is no tree. */
export function treeOf(drawing: Drawing, labels: Labels): Layout | null {
  const branches = branchesOf(drawing);
  if (!branches) return null;
  const { vertices, links } = drawing;
  const { children, depths } = branches;
  const sizes = new Map(vertices.map((vertex) => [vertex.id, sizeOf(vertex)]));
  const columns = columnsOf(depths, sizes, labelWidths(drawing, depths, labels));
  const places = new Map<string, Place>();
  let bottom = MARGIN;
  const put = (id: string): number => {
    const { width, height } = sizes.get(id)!;
    const middles = (children.get(id) ?? []).map(put);
    const middle = middles.length ? (middles[0]! + middles.at(-1)!) / 2 : bottom + height / 2;
    if (!middles.length) bottom += height + BETWEEN.row;
    places.set(id, { x: columns[depths.get(id)!]!, y: middle - height / 2, width, height });
    return middle;
  };
  for (const [id, depth] of depths) if (depth === 0) put(id);
  if (sizes.has(END)) {
    const start = places.get(START);
    const { width, height } = sizes.get(END)!;
    places.set(END, { x: MARGIN, y: start ? start.y + start.height + 9 * BETWEEN.row : bottom, width, height });
    bottom = Math.max(bottom, places.get(END)!.y + height + BETWEEN.row);
  }
  const ways = links.map(({ id, from, to }): [string, Way] => [id, wayBetween(places.get(from)!, places.get(to)!)]);
  const width = Math.max(...[...places.values()].map((place) => place.x + place.width)) + MARGIN;
  const inOrder = new Map(vertices.map(({ id }): [string, Place] => [id, places.get(id)!])); // One looks at the first.
  return { direction: 'LR', width, height: bottom + MARGIN, places: inOrder, ways: new Map(ways) };
}

function depthsFrom(roots: string[], children: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const depths = new Map(roots.map((id): [string, number] => [id, 0]));
  for (const [id, depth] of depths) for (const child of children.get(id) ?? []) depths.set(child, depth + 1);
  return depths;
}

/** The widest label before each column; on the way to the end it stands before what leads there. */
function labelWidths({ links }: Drawing, depths: ReadonlyMap<string, number>, labels: Labels): Map<number, number> {
  const widths = new Map<number, number>();
  for (const { id, from, to } of links) {
    const keys = from === to ? undefined : labels.get(id);
    const depth = depths.get(to === END ? from : to) ?? 0;
    if (keys?.length) widths.set(depth, Math.max(widths.get(depth) ?? 0, labelSize(keys, 1, true).width));
  }
  return widths;
}

/** Where each column begins; one that labelled ways lead to leaves room for the labels. */
function columnsOf(
  depths: ReadonlyMap<string, number>,
  sizes: ReadonlyMap<string, Size>,
  labels: ReadonlyMap<number, number>,
): number[] {
  const widths: number[] = [];
  for (const [id, depth] of depths) widths[depth] = Math.max(widths[depth] ?? 0, sizes.get(id)!.width);
  const columns: number[] = [];
  let x = MARGIN;
  widths.forEach((width, depth) => {
    const label = labels.get(depth);
    if (depth) x += label === undefined ? BETWEEN.column : label + BETWEEN.column + TRUNK;
    columns.push(x);
    x += width;
  });
  return columns;
}

function wayBetween(from: Place, to: Place): Way {
  if (from === to) return loopAt(from);
  if (to.x < from.x) return wayBack(from, to);
  const start: Point = { x: from.x + from.width, y: from.y + from.height / 2 };
  const stop: Point = { x: to.x, y: to.y + to.height / 2 };
  const trunk = start.x + TRUNK;
  return {
    points: [start, { x: trunk, y: start.y }, { x: trunk, y: stop.y }, stop],
    label: { x: (trunk + stop.x) / 2, y: stop.y, shown: 1, isLine: true },
  };
}

const LOW = 8; // Above the lower edge of a vertex: what leads to it comes in the middle.

/** To the end: out on the left, in on the right. */
function wayBack(from: Place, to: Place): Way {
  const start: Point = { x: from.x, y: from.y + from.height - LOW };
  const stop: Point = { x: to.x + to.width, y: to.y + to.height / 2 };
  const trunk = stop.x + TRUNK;
  return {
    points: [start, { x: trunk, y: start.y }, { x: trunk, y: stop.y }, stop],
    label: { x: (trunk + start.x) / 2, y: start.y + LOW, shown: 1, isLine: true },
  };
}
