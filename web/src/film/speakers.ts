/** Where a speaker ran when something was said: the latest run of an agent of that name that had not ended. */
import { once, type Film } from './film';
import { endOf, type NodeItem } from './timeline';

const byName = once((film: Film): ReadonlyMap<string, NodeItem[]> => {
  const found = new Map<string, NodeItem[]>();
  for (const node of film.items.nodes) {
    if (node.is.kind === 'tool') continue;
    const same = found.get(node.is.name);
    if (same) same.push(node);
    else found.set(node.is.name, [node]);
  }
  return found;
});

/** Return path and branch of whoever spoke at a cursor, as the live stream says them; null where that is not known. */
export function speakerPlace(film: Film, speaker: string, since: number): { path: string; branch: string } | null {
  const node = byName(film).get(speaker)?.findLast((one) => one.since <= since && (endOf(one)?.cursor ?? Infinity) >= since);
  return node ? { path: node.is.path, branch: node.is.lane } : null;
}
