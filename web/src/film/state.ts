/** Session state at a cursor: the snapshot by scope, differences, and who wrote what. */
import type { Json, KeyNews, Mark } from '@adk-prism/client/film';
import { once, type Film, countUpTo, lastUpTo } from './film';
import { endOf } from './timeline';

export type Scope = 'session' | 'user' | 'app' | 'temp';
const SCOPES: readonly Scope[] = ['user', 'app', 'temp'];

export type Snapshot = Partial<Record<Scope, Record<string, Json>>>;
export type KeyChange = {
  key: string;
  kind: 'added' | 'changed' | 'removed';
  before: Json;
  after: Json;
  writer: string;
};
export type Write = { cursor: number; writer: string } & ({ value: Json } | { removed: true });
export type StateView = {
  snapshot: Snapshot;
  sinceStart: KeyChange[];
  sincePreviousNode: KeyChange[];
  previousNode: number;
  writers: Record<string, string>;
};

/** Tell which scope ADK keeps a key in. */
export function scopeOf(key: string): Scope {
  return SCOPES.find((scope) => key.startsWith(`${scope}:`)) ?? 'session';
}

export function stateAt(film: Film, at: number): StateView {
  const previousNode = previousNodeEnd(film, at);
  return {
    snapshot: snapshotAt(film, at),
    sinceStart: difference(film, 1, at),
    sincePreviousNode: difference(film, previousNode, at),
    previousNode,
    writers: writersAt(film, at),
  };
}

/** Return the cursor at which the last node before this moment had ended; 1 if none had. */
export function previousNodeEnd(film: Film, at: number): number {
  return lastUpTo(nodeEnds(film), at - 1)?.[0] ?? 1;
}

const nodeEnds = once((film: Film): Mark<null>[] =>
  film.items.nodes
    .flatMap((node) => endOf(node)?.cursor ?? [])
    .sort((a, b) => a - b)
    .map((cursor) => [cursor, null]),
);

// Names are the agent's: `fromEntries` defines even `__proto__` as a plain key.
export function snapshotAt(film: Film, at: number): Snapshot {
  const scopes = new Map<Scope, [string, Json][]>([['session', []]]);
  for (const item of film.items.keys) {
    const value = lastUpTo(item.marks, at)?.[1].value;
    if (value === undefined) continue;
    const scope = scopeOf(item.is.key);
    if (!scopes.has(scope)) scopes.set(scope, []);
    scopes.get(scope)!.push([item.is.key, value]);
  }
  return Object.fromEntries([...scopes].map(([scope, entries]) => [scope, Object.fromEntries(entries)]));
}

/** Return what changed between two cursors, in the order of first sight. */
export function difference(film: Film, before: number, after: number): KeyChange[] {
  const changes: KeyChange[] = [];
  for (const { is, marks } of film.items.keys) {
    if (countUpTo(marks, before) === countUpTo(marks, after)) continue;
    const change = compare(is.key, lastUpTo(marks, before), lastUpTo(marks, after));
    if (change) changes.push(change);
  }
  return changes;
}

function compare(key: string, before?: Mark<KeyNews>, after?: Mark<KeyNews>): KeyChange | null {
  const old = before?.[1].value;
  const now = after?.[1].value;
  const writer = after?.[1].writer ?? '';
  if (old === undefined && now === undefined) return null;
  if (old === undefined) return { key, kind: 'added', before: null, after: now!, writer };
  if (now === undefined) return { key, kind: 'removed', before: old, after: null, writer };
  return sameJson(old, now) ? null : { key, kind: 'changed', before: old, after: now, writer };
}

/** Tell whether two values would be written alike. The first difference decides, however large they are. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => sameJson(item, b[index]!))
    );
  }
  const [ours, theirs] = [Object.keys(a), Object.keys(b)];
  return (
    ours.length === theirs.length && ours.every((key, index) => key === theirs[index] && sameJson(a[key]!, b[key]!))
  );
}

/** Return who wrote each key last. */
export function writersAt(film: Film, at: number): Record<string, string> {
  const writers: [string, string][] = [];
  for (const { is, marks } of film.items.keys) {
    const write = lastUpTo(marks, at);
    if (write) writers.push([is.key, write[1].writer]);
  }
  return Object.fromEntries(writers);
}

/** Return every write of a key, oldest first. */
export function historyOf(film: Film, key: string): Write[] {
  const found = film.items.keys.find((item) => item.is.key === key);
  return (found?.marks ?? []).map(([cursor, { writer, value }]) =>
    value === undefined ? { cursor, writer, removed: true } : { cursor, writer, value },
  );
}

type Coming = { cursor: number; key: number; came: boolean };

/** How the set of keys changed, in order. */
const comings = once((film: Film): Coming[] => {
  const found: Coming[] = [];
  film.items.keys.forEach(({ marks }, key) => {
    let there = false;
    for (const [cursor, news] of marks) {
      const came = news.value !== undefined;
      if (came !== there) found.push({ cursor, key, came });
      there = came;
    }
  });
  return found.sort((a, b) => a.cursor - b.cursor);
});

/** Return the keys of the state at each of some cursors; equal neighbours share one list. */
export function keysAt(film: Film, cursors: Iterable<number>): Map<number, string[]> {
  const there = new Set<number>();
  const found = new Map<number, string[]>();
  const moves = comings(film);
  let keys: string[] = [];
  let next = 0;
  for (const cursor of [...new Set(cursors)].sort((a, b) => a - b)) {
    const before = next;
    for (; next < moves.length && moves[next]!.cursor <= cursor; next++) {
      const { key, came } = moves[next]!;
      if (came) there.add(key);
      else there.delete(key);
    }
    if (next !== before) keys = [...there].sort((a, b) => a - b).map((key) => film.items.keys[key]!.is.key);
    found.set(cursor, keys);
  }
  return found;
}
