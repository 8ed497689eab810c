/**
 * The run as a graph at a cursor: which node led to which, how often, and which state keys went along.
 * The rules are those of `view/graph.py`.
 */
import type { NodeKind } from './document';
import { once, type Film } from './film';
import { keysAt } from './state';
import { endAt, endOf, nodeAt, nodesAt, timeAt, type NodeItem } from './timeline';

export const START = 'START';
export const END = 'END';
export type EdgeKind = 'sequence' | 'transfer' | 'delegation' | 'tool';

const CARRYING = new Set<EdgeKind>(['sequence', 'transfer']);

export type Passage = { from: string; to: string; kind: EdgeKind; keys: string[] };
export type GraphNode = { id: string; kind: NodeKind; status: string; runs: number; failures: number; duration: number };
export type GraphEdge = Passage & { count: number };
export type GraphView = { nodes: GraphNode[]; edges: GraphEdge[]; asItRan: Passage[] };

type Step = { from: string; to: string; kind: EdgeKind };

export function graphAt(film: Film, at: number): GraphView {
  const nodes = nodesAt(film, at);
  const steps = passages(film, nodes, at, film.ended?.outcome === 'finished' && film.ended.cursor <= at);
  const left = keysLeft(film, nodes, steps);
  const asItRan = steps.map((step) => ({ ...step, keys: carried(step, left) }));
  return { nodes: sumNodes(film, nodes, at), edges: sumEdges(nodes, asItRan), asItRan };
}

/** The children of one node, in waves: those that ran side by side, and those that came before. */
type Generation = { before: string[]; finished: string[] };

function passages(film: Film, nodes: NodeItem[], at: number, over: boolean): Step[] {
  const callers = callersOf(nodes);
  const places = placesOf(nodes, at);
  const generations = new Map<string, Generation>();
  const steps: Step[] = [];
  for (const { node, begins, cursor } of momentsOf(film)) {
    if (cursor > at) break;
    const { node: id, parent, kind } = node.is;
    if (kind === 'tool') {
      if (begins && !callers.has(id)) steps.push({ from: parent || START, to: id, kind: 'tool' });
      continue;
    }
    const place = places.get(id)!;
    let generation = generations.get(place);
    if (!generation) generations.set(place, (generation = { before: [place || START], finished: [] }));
    if (!begins) {
      generation.finished.push(id);
      continue;
    }
    if (place !== parent) {
      generation.finished = generation.finished.filter((other) => other !== parent);
      steps.push({ from: parent, to: id, kind: 'transfer' });
      continue;
    }
    if (generation.finished.length) {
      generation.before = generation.finished;
      generation.finished = [];
    }
    for (const source of generation.before) {
      steps.push({ from: callers.get(source) ?? source, to: id, kind: source === parent ? 'delegation' : 'sequence' });
    }
  }
  if (over) for (const source of generations.get('')?.finished ?? []) steps.push({ from: source, to: END, kind: 'sequence' });
  return steps;
}

/** Return for each node in which it stands: its parent, or, handed over to, where that one stood. */
function placesOf(nodes: NodeItem[], at: number): Map<string, string> {
  const known = new Map(nodes.map((node) => [node.is.node, node]));
  const places = new Map<string, string>();
  for (const node of nodes) {
    const parent = known.get(node.is.parent);
    const end = parent && parent.is.kind !== 'tool' ? endAt(parent, at) : null;
    places.set(node.is.node, end && end.cursor <= node.since ? places.get(node.is.parent)! : node.is.parent);
  }
  return places;
}

/** Return the tools that only run an agent, each with the node that calls it. */
function callersOf(nodes: NodeItem[]): Map<string, string> {
  const around = new Set(nodes.filter((node) => node.is.kind !== 'tool').map((node) => node.is.parent));
  const tools = nodes.filter((node) => node.is.kind === 'tool' && around.has(node.is.node));
  return new Map(tools.map((node) => [node.is.node, node.is.parent || START]));
}

type Moment = { cursor: number; order: number; begins: boolean; node: NodeItem };

/** The starts and ends of all nodes, in order. */
const momentsOf = once((film: Film): Moment[] => {
  const found: Moment[] = [];
  film.items.nodes.forEach((node, order) => {
    found.push({ cursor: node.since, order, begins: true, node });
    const end = endOf(node);
    if (end) found.push({ cursor: end.cursor, order, begins: false, node });
  });
  return found.sort((a, b) => a.cursor - b.cursor || a.order - b.order || Number(a.begins) - Number(b.begins));
});

/** Return the keys that each node left behind from which it goes on. */
function keysLeft(film: Film, nodes: NodeItem[], steps: Step[]): Map<string, string[]> {
  const sources = new Set(steps.filter((step) => CARRYING.has(step.kind)).map((step) => step.from));
  const ends = new Map<string, number>();
  for (const node of nodes) {
    const end = sources.has(node.is.node) ? endAt(node, film.last) : null;
    if (end) ends.set(node.is.node, end.cursor);
  }
  const keys = keysAt(film, ends.values());
  return new Map([...ends].map(([node, cursor]) => [node, keys.get(cursor)!]));
}

function carried(step: Step, left: Map<string, string[]>): string[] {
  return CARRYING.has(step.kind) ? (left.get(step.from) ?? []) : [];
}

/** Sum the runs of each name up: its last status, how often it ran, how long in all. */
function sumNodes(film: Film, nodes: NodeItem[], at: number): GraphNode[] {
  const callers = callersOf(nodes);
  const now = timeAt(film, at);
  const summed = new Map<string, GraphNode>();
  for (const node of nodes) {
    if (callers.has(node.is.node)) continue;
    const { status, duration } = nodeAt(node, at, now);
    const { name, kind } = node.is;
    const known = summed.get(name) ?? { id: name, kind, status, runs: 0, failures: 0, duration: 0 };
    known.status = status;
    known.runs += 1;
    known.failures += Number(status === 'failed');
    known.duration = Math.round((known.duration + duration) * 1e6) / 1e6;
    summed.set(name, known);
  }
  return [...summed.values()];
}

function sumEdges(nodes: NodeItem[], steps: Passage[]): GraphEdge[] {
  const names = new Map([...nodes.map((node): [string, string] => [node.is.node, node.is.name]), [START, START], [END, END]]);
  const summed = new Map<string, GraphEdge & { seen: Set<string> }>();
  for (const step of steps) {
    const from = names.get(step.from) ?? step.from;
    const to = names.get(step.to) ?? step.to;
    const id = `${from}\u0000${to}\u0000${step.kind}`;
    const known = summed.get(id) ?? { from, to, kind: step.kind, count: 0, keys: [], seen: new Set<string>() };
    known.count += 1;
    for (const key of step.keys) known.seen.add(key);
    summed.set(id, known);
  }
  return [...summed.values()].map(({ seen, ...edge }) => ({ ...edge, keys: [...seen] }));
}
