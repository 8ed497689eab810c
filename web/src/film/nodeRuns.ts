/** Each time a node ran: what it got, said, called and passed on, at a cursor. The rules are those of `view/node_runs.py`. */
import { upTo } from './bisect';
import { conversationAt, saidAt, type Said, type SaidItem } from './conversation';
import type { Json } from './document';
import { grouped, once, type Film } from './film';
import { callsThatRun, passagesAt } from './graph';
import { difference, type KeyChange } from './state';
import { nodeAt, timeAt, type NodeItem, type NodeView } from './timeline';

export type Received = { from: string; value: Json };
export type NodeRun = NodeView & {
  /** The call that runs it. */
  asked: Said | null;
  received: Received[];
  said: Said[];
  outputs: Json[];
  changes: KeyChange[];
  /** Cursors of its model calls. */
  modelCalls: number[];
};

/** Return the runs of the nodes with a name, whenever they are, in order. */
export function runsOf(film: Film, name: string): readonly NodeItem[] {
  return byName(film).get(name) ?? [];
}

const byName = once((film: Film) => grouped(film.items.nodes, ({ is }) => is.name));
const byNode = once((film: Film) => grouped(film.items.said, ({ is }) => is.node ?? ''));
const users = once((film: Film) => film.items.said.filter(({ is }) => is.kind === 'user'));
const callsOf = once((film: Film) => grouped(film.items.calls ?? [], ({ is }) => is.node));

/** The nodes that led to each, one after the other. */
const before = once((film: Film): Map<string, NodeItem[]> => {
  const known = new Map(film.items.nodes.map((node) => [node.is.node, node]));
  const found = new Map<string, NodeItem[]>();
  for (const { from, to, kind } of passagesAt(film, film.last)) {
    const node = kind === 'sequence' ? known.get(from) : undefined;
    if (node) found.set(to, [...(found.get(to) ?? []), node]);
  }
  return found;
});

/** Return a run of a node that had started at a cursor, as it was then. */
export function nodeRunAt(film: Film, item: NodeItem, at: number): NodeRun {
  const view = nodeAt(item, at, timeAt(film, at));
  const call = callsThatRun(film).get(view.node);
  return {
    ...view,
    asked: call && call.since <= at ? saidAt(call, at) : null,
    received: receivedBy(film, item, at),
    said: saidBy(film, view.node, at),
    outputs: outputsAt(item, at),
    changes: difference(film, view.since, view.until ?? at),
    modelCalls: (callsOf(film).get(view.node) ?? []).map(({ since }) => since).filter((since) => since <= at),
  };
}

function saidBy(film: Film, node: string, at: number): Said[] {
  return conversationAt({ items: { said: byNode(film).get(node) ?? [] } }, at);
}

function receivedBy(film: Film, item: NodeItem, at: number): Received[] {
  const values = (before(film).get(item.is.node) ?? []).flatMap((node) => given(film, node, item.since, at).map((value) => ({ from: node.is.name, value })));
  if (values.length || item.is.parent) return values;
  const asked: SaidItem | undefined = users(film).findLast(({ since }) => since <= item.since);
  return asked ? [{ from: 'user', value: asked.is.text as Json }] : [];
}

/** What a node had passed on when another started: its outputs, or its last words. */
function given(film: Film, node: NodeItem, cursor: number, at: number): Json[] {
  const outputs = outputsAt(node, cursor);
  if (outputs.length) return outputs;
  const text = saidBy(film, node.is.node, at).findLast(({ kind, since }) => kind === 'text' && since <= cursor);
  return text ? [text.text as Json] : [];
}

function outputsAt(node: NodeItem, at: number): Json[] {
  return upTo(node.marks, at).flatMap(([, news]) => ('output' in news ? [news.output] : []));
}
