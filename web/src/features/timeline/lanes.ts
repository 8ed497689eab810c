/** The rows of the waterfall: one for each node in its place, and another for each run of it side by side. */
import { once, type Film } from '../../film/film';
import { endOf, type NodeItem } from '../../film/timeline';

export type Lane = {
  id: string;
  name: string;
  kind: NodeItem['is']['kind'];
  depth: number;
  /** In the order of their starts; they do not overlap. */
  nodes: NodeItem[];
};

type Place = { id: string; depth: number; lanes: Lane[]; children: Place[] };

export const lanesOf = once((film: Film): Lane[] => {
  const places = new Map<string, Place>();
  const placeOf = new Map<string, Place>();
  const roots: Place[] = [];
  const around = new Set(film.items.nodes.filter(({ is }) => is.kind !== 'tool').map(({ is }) => is.parent));
  for (const node of film.items.nodes) {
    const parent = placeOf.get(node.is.parent);
    if (node.is.kind === 'tool' && around.has(node.is.node)) {
      // A tool that only runs an agent is that agent, as in the graph.
      if (parent) placeOf.set(node.is.node, parent);
      continue;
    }
    const id = JSON.stringify([parent?.id ?? '', node.is.name, node.is.kind, node.is.lane]);
    let place = places.get(id);
    if (!place) {
      place = { id, depth: parent ? parent.depth + 1 : 0, lanes: [], children: [] };
      places.set(id, place);
      (parent ? parent.children : roots).push(place);
    }
    placeOf.set(node.is.node, place);
    laneFor(place, node).nodes.push(node);
  }
  return roots.flatMap(flat);
});

/** Return the first lane of a place whose last run was over when this one began. */
function laneFor(place: Place, node: NodeItem): Lane {
  const free = place.lanes.find((lane) => {
    const end = endOf(lane.nodes.at(-1)!);
    return end !== null && end.cursor <= node.since;
  });
  if (free) return free;
  const { name, kind } = node.is;
  const lane: Lane = { id: `${place.id}${place.lanes.length}`, name, kind, depth: place.depth, nodes: [] };
  place.lanes.push(lane);
  return lane;
}

function flat(place: Place): Lane[] {
  return [...place.lanes, ...place.children.flatMap(flat)];
}
