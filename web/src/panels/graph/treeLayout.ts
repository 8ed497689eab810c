/** A layout for a tree in a small room: a line for each vertex, further in the deeper it hangs. The end comes last. */
import { END } from '../../film/graph';
import type { Drawing, Link } from './drawing';
import { loopAt, type Layout, type Place, type Way } from './layout';
import { branchesOf } from './tree';

const LINE = { width: 248, height: 28, between: 6 };
const PILL = 72; // The start and the end.
const INDENT = 22;
const MARGIN = 8;
const TRUNK = 10; // From the left of a vertex to what hangs on it.
const BEND = 8;
const LABEL = 132; // A key, and how many more there are.

/** Return the layout, or null where the drawing is no tree. */
export function outlineOf(drawing: Drawing, labelled: ReadonlySet<string>): Layout | null {
  const branches = branchesOf(drawing);
  if (!branches) return null;
  const { vertices, links } = drawing;
  const kinds = new Map(vertices.map(({ id, kind }) => [id, kind]));
  const places = new Map<string, Place>();
  const put = (id: string, depth: number): void => {
    const kind = kinds.get(id)!;
    const width = kind === 'start' || kind === 'end' ? PILL : LINE.width;
    places.set(id, { x: MARGIN + depth * INDENT, y: MARGIN + places.size * (LINE.height + LINE.between), width, height: LINE.height });
    for (const child of branches.children.get(id) ?? []) put(child, depth + 1);
  };
  for (const [id, depth] of branches.depths) if (depth === 0) put(id, 0);
  if (kinds.has(END)) put(END, 0);
  const ways = new Map(links.map((link): [string, Way] => [link.id, wayOf(link, places)]));
  const edges = [...places.values()].map((place) => place.x + place.width);
  const labels = links.filter(({ id }) => labelled.has(id)).map(({ id }) => ways.get(id)!.label.x + LABEL);
  const width = Math.max(...edges, ...labels) + MARGIN;
  const inOrder = new Map(vertices.map(({ id }): [string, Place] => [id, places.get(id)!]));
  return { direction: 'lines', width, height: places.size * (LINE.height + LINE.between) + 2 * MARGIN, places: inOrder, ways };
}

function wayOf({ from, to }: Link, places: ReadonlyMap<string, Place>): Way {
  const [above, below] = [places.get(from)!, places.get(to)!];
  if (above === below) return loopAt(above);
  const label = { x: below.x + below.width + MARGIN, y: below.y + below.height / 2, from: true as const };
  const x = above.x + TRUNK;
  const start = { x, y: above.y + above.height };
  // The end stands further out than what leads to it: its way comes from above.
  if (to === END) return { points: [start, { x, y: below.y }], label };
  return { points: [start, { x, y: label.y - BEND }, { x, y: label.y }, { x: below.x, y: label.y }], label };
}
