/** The rows of the table of nodes: each below its parent, and a tool that only runs an agent as that agent. */
import { once, type Film } from '../../film/film';
import type { NodeItem } from '../../film/timeline';

export type TableRow = { item: NodeItem; depth: number };

/** Return all nodes of a run in the order of the table. */
export const tableRows = once((film: Film): TableRow[] => {
  const children = new Map<string, NodeItem[]>();
  for (const node of film.items.nodes) {
    const siblings = children.get(node.is.parent);
    if (siblings) siblings.push(node);
    else children.set(node.is.parent, [node]);
  }
  const known = new Set(film.items.nodes.map(({ is }) => is.node));
  const rows: TableRow[] = [];
  const waiting = film.items.nodes.filter(({ is }) => !known.has(is.parent)).map((item) => ({ item, depth: 0 })).reverse();
  // A node is taken once, whoever names it as a parent.
  const taken = new Set<string>();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { item, depth } = next;
    if (taken.has(item.is.node)) continue;
    taken.add(item.is.node);
    const inside = children.get(item.is.node) ?? [];
    const isMerged = item.is.kind === 'tool' && inside.some(({ is }) => is.call === item.is.call && is.kind !== 'tool');
    if (!isMerged) rows.push(next);
    for (const child of inside.toReversed()) waiting.push({ item: child, depth: isMerged ? depth : depth + 1 });
  }
  // What stands inside of itself, as a damaged recording may say, hangs on nothing.
  for (const item of film.items.nodes) if (!taken.has(item.is.node)) rows.push({ item, depth: 0 });
  return rows;
});
