/**
 * A layout for what is a tree, as most runs are: each vertex in the middle of what it leads to, which stands below one another.
 * The end is beside the start: whoever was first asked answers last.
 */
import { END, START } from '../../film/graph';
import type { Drawing } from './drawing';
import { loopAt, sizeOf, type Layout, type Place, type Point, type Way } from './layout';

const BETWEEN = { column: 28, row: 10, label: 104 };
const MARGIN = 8;

export type Branches = {
  children: ReadonlyMap<string, readonly string[]>;
  /** How far from a root each vertex is, the roots first; the end is none of them. */
  depths: ReadonlyMap<string, number>;
};

/** Return what hangs on what, or null where something is led to from two sides. */
export function branchesOf({ vertices, links }: Drawing): Branches | null {
  const children = new Map<string, string[]>();
  const parents = new Map<string, string>();
  for (const { from, to } of links) {
    if (from === to || to === END || parents.get(to) === from) continue;
    if (parents.has(to) || from === END || to === START) return null;
    parents.set(to, from);
    children.set(from, [...(children.get(from) ?? []), to]);
  }
  const depths = depthsFrom(vertices.map(({ id }) => id).filter((id) => id !== END && !parents.has(id)), children);
  const isWhole = depths.size === vertices.filter(({ id }) => id !== END).length; // A circle hangs on nothing.
  return isWhole ? { children, depths } : null;
}

/** Return the layout, or null where the drawing is no tree. */
export function treeOf(drawing: Drawing, labelled: ReadonlySet<string>): Layout | null {
  const branches = branchesOf(drawing);
  if (!branches) return null;
  const { vertices, links } = drawing;
  const { children, depths } = branches;
  const sizes = new Map(vertices.map(({ id, kind }) => [id, sizeOf(kind)]));
  const columns = columnsOf(depths, sizes, new Set(links.filter(({ id, to }) => labelled.has(id) && to !== END).map(({ to }) => depths.get(to) ?? 0)));
  const places = new Map<string, Place>();
  let bottom = MARGIN;
  const put = (id: string): number => {
    const [width, height] = sizes.get(id)!;
    const middles = (children.get(id) ?? []).map(put);
    const middle = middles.length ? (middles[0]! + middles.at(-1)!) / 2 : bottom + height / 2;
    if (!middles.length) bottom += height + BETWEEN.row;
    places.set(id, { x: columns[depths.get(id)!]!, y: middle - height / 2, width, height });
    return middle;
  };
  for (const [id, depth] of depths) if (depth === 0) put(id);
  if (sizes.has(END)) {
    const start = places.get(START);
    const [width, height] = sizes.get(END)!;
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

/** Where each column begins; one that labelled ways lead to leaves room for the labels. */
function columnsOf(depths: ReadonlyMap<string, number>, sizes: ReadonlyMap<string, [number, number]>, labelled: ReadonlySet<number>): number[] {
  const widths: number[] = [];
  for (const [id, depth] of depths) widths[depth] = Math.max(widths[depth] ?? 0, sizes.get(id)![0]);
  const columns: number[] = [];
  let x = MARGIN;
  widths.forEach((width, depth) => {
    if (depth) x += labelled.has(depth) ? BETWEEN.label : BETWEEN.column;
    columns.push(x);
    x += width;
  });
  return columns;
}

function wayBetween(from: Place, to: Place): Way {
  if (from === to) return loopAt(from);
  const back = to.x < from.x; // To the end: out on the left, in on the right.
  const start: Point = { x: back ? from.x : from.x + from.width, y: from.y + from.height / 2 };
  const stop: Point = { x: back ? to.x + to.width : to.x, y: to.y + to.height / 2 };
  const middle = (start.x + stop.x) / 2;
  const label = back ? { x: from.x + 40, y: (start.y + stop.y) / 2 + 12 } : { x: middle, y: stop.y };
  return { points: [start, { x: middle, y: start.y }, { x: middle, y: stop.y }, stop], label };
}
