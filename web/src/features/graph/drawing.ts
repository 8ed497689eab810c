/** What the graph shows: the run, joined with what the app declares. Pure. */
import type { AppGraph, AppNode } from '../../film/appGraph';
import type { NodeKind } from '@adk-prism/client/film';
import { once, type Film } from '../../film/film';
import { edgesSummedAt, END, nodesSummedAt, passagesAt, START, type EdgeKind, type Passage } from '../../film/graph';
import { nodeAt, nodesAt, timeAt } from '../../film/timeline';

/** How much room the words of the graph take, so that none is cut and no two overlap. */
type Face = 'name' | 'key';

/** As in graph.css: what a vertex is called, and a key on an edge. */
const FACES: Record<Face, { weight: number; family: string; usual: number }> = {
  name: { weight: 600, family: '--font', usual: 7.2 },
  key: { weight: 400, family: '--mono', usual: 7.3 },
};

let pen: CanvasRenderingContext2D | null | undefined;
const fonts = new Map<Face, string>();
const widths = new Map<string, number>();
const MOST_WIDTHS = 5000; // Words of many runs; then it begins anew.

/** Return the width of words in pixels; where nothing can be drawn, about what they would take. */
function textWidth(text: string, face: Face): number {
  const known = widths.get(`${face} ${text}`);
  if (known !== undefined) return known;
  if (pen === undefined)
    pen = typeof document === 'undefined' ? null : (document.createElement('canvas').getContext?.('2d') ?? null);
  const { weight, family, usual } = FACES[face];
  let width = text.length * usual;
  if (pen) {
    if (!fonts.has(face))
      fonts.set(
        face,
        `${weight} 12px ${getComputedStyle(document.documentElement).getPropertyValue(family) || 'sans-serif'}`,
      );
    pen.font = fonts.get(face)!;
    width = pen.measureText(text).width;
  }
  if (widths.size >= MOST_WIDTHS) widths.clear();
  widths.set(`${face} ${text}`, width);
  return width;
}

export type Size = { width: number; height: number };

const LINE = 17; // Height of a line of a name.
const AROUND = { name: 22 + 18 + 30, pill: 24 + 18 }; // Border, padding, the sign, and how often it ran.
const LEAST: Partial<Record<Vertex['kind'], Size>> = {
  start: { width: 62, height: 26 },
  end: { width: 62, height: 26 },
  tool: { width: 148, height: 42 },
};
const USUAL: Size = { width: 152, height: 48 };
const WIDEST_NAME = 240; // Longer names go on in the next line.
const MOST_LINES = 6; // Of a name that nobody reads anyway; all of it is in the tip.

/** Return the size of a vertex, around its whole name. */
export function sizeOf({ kind, name }: Pick<Vertex, 'kind' | 'name'>): Size {
  const least = LEAST[kind] ?? USUAL;
  const text = Math.ceil(textWidth(name, 'name')) + 2;
  const isPill = kind === 'start' || kind === 'end';
  const lines = Math.min(MOST_LINES, Math.ceil(text / (WIDEST_NAME * 0.94))); // Lines break before they are full.
  return {
    width: Math.max(least.width, Math.min(text, WIDEST_NAME) + (isPill ? AROUND.pill : AROUND.name)),
    height: least.height + (lines - 1) * LINE,
  };
}

const PADDING = 12; // Of a key, with its border.
const KEY_LINE = 19;
const MORE = 34; // "+12".
const BETWEEN = 3;
const WIDEST_KEY = 240;

/** Return the size of a label with some of the keys: below one another, or in a line. */
export function labelSize(keys: readonly string[], shown: number, isLine: boolean): Size {
  // Which of them are shown changes with the playhead: there is room for any.
  const widest = Math.min(WIDEST_KEY, Math.ceil(Math.max(0, ...keys.map((key) => textWidth(key, 'key'))))) + PADDING;
  const hasMore = keys.length > shown;
  if (isLine)
    return { width: widest * Math.min(shown, keys.length) + (hasMore ? MORE + BETWEEN : 0), height: KEY_LINE };
  return {
    width: Math.max(widest, hasMore ? MORE : 0),
    height: KEY_LINE * (Math.min(shown, keys.length) + Number(hasMore)),
  };
}

const LINE_AROUND = 16 + 18 + 8 + 66 + 30; // Padding, signs, the time or that it did not run, and how often it ran.

/** Return how wide a vertex is that stands in a line of its own. */
export function lineWidth({ name }: Pick<Vertex, 'name'>): number {
  return Math.min(WIDEST_NAME * 2, Math.ceil(textWidth(name, 'name'))) + 2 + LINE_AROUND;
}

export type Vertex = {
  id: string;
  name: string;
  kind: NodeKind | 'start' | 'end' | 'toolset';
  model: string;
  description: string;
};
export type Link = { id: string; from: string; to: string; kind: EdgeKind };
export type Drawing = { vertices: Vertex[]; links: Link[] };

/** How a vertex stands at the playhead. */
export type Standing = { status: string; runs: number; failures: number; duration: number };
/** What had gone along an edge. */
type Traffic = { count: number; keys: string[] };
export type Moment = { standings: Map<string, Standing>; traffic: Map<string, Traffic> };

function linkId(from: string, to: string, kind: EdgeKind): string {
  return JSON.stringify([from, to, kind]);
}

class Sketch {
  readonly vertices = new Map<string, Vertex>();
  readonly links = new Map<string, Link>();

  vertex(id: string, about: Partial<Vertex> & Pick<Vertex, 'kind'>): void {
    const known = this.vertices.get(id);
    if (!known) this.vertices.set(id, { id, name: id, model: '', description: '', ...about });
  }

  link(from: string, to: string, kind: EdgeKind): void {
    if (from === to && kind !== 'sequence') return;
    const id = linkId(from, to, kind);
    if (!this.links.has(id)) this.links.set(id, { id, from, to, kind });
  }

  drawing(): Drawing {
    const links = [...this.links.values()].filter(({ from, to }) => this.vertices.has(from) && this.vertices.has(to));
    const touched = new Set(links.flatMap(({ from, to }) => [from, to]));
    const vertices = [...this.vertices.values()].filter(
      ({ id, kind }) => (kind !== 'start' && kind !== 'end') || touched.has(id),
    );
    return { vertices, links };
  }
}

/** Summed up by name, with what the app declares where it is given. */
export function summedDrawing(film: Film, app: AppGraph | null): Drawing {
  const sketch = new Sketch();
  const declared = new Map((app?.nodes ?? []).map((node) => [node.name, node]));
  sketch.vertex(START, { kind: 'start' });
  for (const node of nodesSummedAt(film, film.last))
    sketch.vertex(node.id, { kind: node.kind, ...captionOf(declared.get(node.id)) });
  if (app) declare(sketch, app);
  sketch.vertex(END, { kind: 'end' });
  for (const edge of edgesSummedAt(film, film.last)) sketch.link(edge.from, edge.to, edge.kind);
  return sketch.drawing();
}

function captionOf(node: AppNode | undefined): Partial<Vertex> {
  return { model: node?.model ?? '', description: node?.description ?? '' };
}

const SEQUENCES = new Set(['sequence', 'route', 'loop']);

function edgeKind(kind: string): EdgeKind {
  if (SEQUENCES.has(kind)) return 'sequence';
  return kind === 'tool' || kind === 'transfer' ? kind : 'delegation';
}

/** Add what the app declares. The starts and ends inside a composite are the composite itself. */
function declare(sketch: Sketch, app: AppGraph): void {
  const byId = new Map(app.nodes.map((node) => [node.id, node]));
  for (const node of app.nodes) {
    if (node.kind === 'start' || node.kind === 'end') continue;
    sketch.vertex(node.name, { kind: node.kind as Vertex['kind'], ...captionOf(node) });
  }
  for (const edge of app.edges) {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
    if (!from || !to) continue;
    if (to.kind === 'end') {
      if (!to.parent) sketch.link(from.name, END, 'sequence');
    } else if (from.kind === 'start') {
      const parent = from.parent ? byId.get(from.parent) : null;
      sketch.link(parent ? parent.name : START, to.name, parent ? 'delegation' : 'sequence');
    } else {
      sketch.link(from.name, to.name, edgeKind(edge.kind));
    }
  }
}

/** Every run of a node by itself. */
export function ranDrawing(film: Film): Drawing {
  const sketch = new Sketch();
  const edges = passagesAt(film, film.last);
  const used = new Set(edges.flatMap(({ from, to }) => [from, to]));
  sketch.vertex(START, { kind: 'start' });
  for (const { is } of film.items.nodes)
    if (used.has(is.node)) sketch.vertex(is.node, { name: is.name, kind: is.kind });
  sketch.vertex(END, { kind: 'end' });
  for (const edge of edges) sketch.link(edge.from, edge.to, edge.kind);
  return sketch.drawing();
}

export function summedMoment(film: Film, at: number): Moment {
  const edges = edgesSummedAt(film, at);
  return {
    standings: new Map([...nodesSummedAt(film, at).map((node): [string, Standing] => [node.id, node]), ...ends(edges)]),
    traffic: new Map(edges.map((edge) => [linkId(edge.from, edge.to, edge.kind), edge])),
  };
}

export function ranMoment(film: Film, at: number): Moment {
  const edges = passagesAt(film, at);
  const now = timeAt(film, at);
  const standings = nodesAt(film, at).map((item): [string, Standing] => {
    const { node, status, duration } = nodeAt(item, at, now);
    return [node, { status, duration, runs: 1, failures: Number(status === 'failed') }];
  });
  return {
    standings: new Map([...standings, ...ends(edges)]),
    traffic: new Map(edges.map((edge) => [ranLinkId(edge), { count: 1, keys: edge.keys }])),
  };
}

/** A passage is one object for as long as its film is, so its name is written once. */
const ranLinkId = once(({ from, to, kind }: Passage): string => linkId(from, to, kind));

/** The start has run as soon as anything has; the end, when something led there. */
function ends(edges: Passage[]): [string, Standing][] {
  const passed = { status: 'finished', runs: 1, failures: 0, duration: 0 };
  const found: [string, Standing][] = [];
  if (edges.some((edge) => edge.from === START)) found.push([START, passed]);
  if (edges.some((edge) => edge.to === END)) found.push([END, passed]);
  return found;
}

/** Return the keys that go along each link at any time, summed up and as it ran: their labels need room. */
export const carrying = once((film: Film): Map<string, readonly string[]> => {
  const traffic = [...summedMoment(film, film.last).traffic, ...ranMoment(film, film.last).traffic];
  return new Map(traffic.filter(([, { keys }]) => keys.length > 0).map(([id, { keys }]) => [id, keys]));
});

/** Return the keys that each node wrote, by its name: of what an edge carries, they come first. */
export const writtenBy = once((film: Film): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>();
  for (const { is, marks } of film.items.keys) {
    for (const [, { writer }] of marks) {
      if (!found.has(writer)) found.set(writer, new Set());
      found.get(writer)!.add(is.key);
    }
  }
  return found;
});
