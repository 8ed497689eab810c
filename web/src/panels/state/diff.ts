/** Where two JSON values differ: the paths, with what was there before and after. Pure, and bounded. */
import type { Json } from '../../film/document';
import { sameJson } from '../../film/state';

export type Difference = { path: string; before?: Json; after?: Json };

export const MOST = 100; // Nobody reads more; the values themselves are shown beside.

/** Return the innermost places that differ, at most `MOST` and one more to tell that there are others. */
export function diffJson(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  const found: Difference[] = [];
  collect(before, after, path, found);
  return found;
}

function collect(before: Json | undefined, after: Json | undefined, path: string, found: Difference[]): void {
  if (found.length > MOST) return;
  if (before !== undefined && after !== undefined && sameJson(before, after)) return;
  const [old, now] = [childrenOf(before), childrenOf(after)];
  if (!old || !now || Array.isArray(before) !== Array.isArray(after)) {
    found.push({ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
    return;
  }
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    collect(old.get(name), now.get(name), Array.isArray(before) ? `${path}[${name}]` : path ? `${path}.${name}` : name, found);
  }
}

function childrenOf(value: Json | undefined): Map<string, Json> | null {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
}
