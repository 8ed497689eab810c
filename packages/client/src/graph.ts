/** The app as a graph: agents, tools, workflow nodes, and what leads from one to another. */
import { address, json, type Connection } from './connection.ts';
import type { GraphEdge, GraphNode } from './studio-client.ts';

export type AppGraph = { nodes: GraphNode[]; edges: GraphEdge[] };

/** Return the graph of an app, for `useStudio` and for drawing. */
export async function loadGraph(connection: Connection): Promise<AppGraph> {
  return json<AppGraph>(connection, address(connection, ['api', 'studio', connection.app, 'graph']));
}
