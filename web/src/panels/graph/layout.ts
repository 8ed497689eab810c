/** Where the vertices lie: from left to right in the order of what leads to what. */
import dagre from '@dagrejs/dagre';
import type { Drawing, Vertex } from './drawing';

export type Place = { x: number; y: number; width: number; height: number };

const SIZES: Partial<Record<Vertex['kind'], [width: number, height: number]>> = {
  start: [64, 28],
  end: [64, 28],
  tool: [176, 44],
};
const SIZE: [number, number] = [192, 52];

export function layoutOf({ vertices, links }: Drawing): Map<string, Place> {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 76, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, kind } of vertices) {
    const [width, height] = SIZES[kind] ?? SIZE;
    graph.setNode(id, { width, height });
  }
  for (const { id, from, to } of links) graph.setEdge(from, to, {}, id);
  dagre.layout(graph);
  return new Map(
    vertices.map(({ id }) => {
      const { x, y, width, height } = graph.node(id) as Place;
      return [id, { x: x - width / 2, y: y - height / 2, width, height }];
    }),
  );
}
