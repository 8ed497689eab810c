/**
 * A layout for a tree in a small room: a line for each vertex, further in the deeper it hangs. The end comes last; where
 * that would be out of sight, it stands beside the start.
 */
import { END, START } from '../../film/graph';
import type { Drawing, Link } from './drawing';
import { loopAt, type Labels, type Layout, type Place, type Way } from './layout';
import { labelSize, lineWidth, sizeOf } from './measure';
import { branchesOf } from './tree';

const LINE = { width: 200, height: 28, between: 6 };
const INDENT = 22;
const MARGIN = 8;
const TRUNK = 10; // From the left of a vertex to what hangs on it.
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
    places.set(id, { x: MARGIN + depth * INDENT, y: MARGIN + places.size * (LINE.height + LINE.between), width, height: LINE.height });
    for (const child of branches.children.get(id) ?? []) put(child, depth + 1);
  };
  for (const [id, depth] of branches.depths) if (depth === 0) put(id, 0);
  if (known.has(END)) {
    const isTall = (places.size + 1) * (LINE.height + LINE.between) + 2 * MARGIN > room;
    if (isTall && endsAtOnce(drawing, places)) places.set(END, besideStart(places.get(START)!, sizeOf(known.get(END)!).width));
    else put(END, 0);
  }
  const ways = new Map(links.map((link): [string, Way] => [link.id, wayOf(link, places)]));
  const edges = [...places.values()].map((place) => place.x + place.width);
  const beside = links.map(({ id }) => ways.get(id)!.label.x + (labels.get(id)?.length ? labelSize(labels.get(id)!, 1, true).width : 0));
  const width = Math.max(...edges, ...beside) + MARGIN;
  const inOrder = new Map(vertices.map(({ id }): [string, Place] => [id, places.get(id)!]));
  return { direction: 'lines', width, height: Math.max(...[...places.values()].map((place) => place.y + place.height)) + MARGIN, places: inOrder, ways };
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
  const label = { x: below.x + below.width + MARGIN, y: below.y + below.height / 2, from: true as const, shown: 1, isLine: true };
  const x = above.x + TRUNK;
  const start = { x, y: above.y + above.height };
  // The end is above: straight up to it.
  if (to === END && below.y < above.y) {
    const middle = below.x + below.width / 2;
    return { points: [{ x: middle, y: above.y }, { x: middle, y: below.y + below.height }], label };
  }
  // The end stands further out than what leads to it: its way comes from above.
  if (to === END) return { points: [start, { x, y: below.y }], label };
  return { points: [start, { x, y: label.y - BEND }, { x, y: label.y }, { x: below.x, y: label.y }], label };
}
