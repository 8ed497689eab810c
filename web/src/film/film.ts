/** Films, and what is asked of all of them. What holds at a cursor is found by bisection, not by copying. */
import type { Film, Item, Mark } from '@adk-prism/client/film';

export { grow, isReplaced, readFilm, UnreadableFilm, type Film } from '@adk-prism/client/film';

/** Return how many marks are not past a cursor. */
export function countUpTo(marks: readonly Mark<unknown>[], cursor: number): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle]![0] <= cursor) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return the last mark that is not past a cursor. */
export function lastUpTo<News>(marks: readonly Mark<News>[], cursor: number): Mark<News> | undefined {
  return marks[countUpTo(marks, cursor) - 1];
}

/** Return the marks that are not past a cursor. */
export function upTo<News>(marks: readonly Mark<News>[], cursor: number): readonly Mark<News>[] {
  const count = countUpTo(marks, cursor);
  return count === marks.length ? marks : marks.slice(0, count);
}

/** Return the items that are there at a cursor. */
export function present<Kind extends Item<unknown, unknown>>(items: readonly Kind[], cursor: number): Kind[] {
  return items.filter((item) => item.since <= cursor);
}

/**
 * Runs that the server reads from an ADK session have such an id: their session is here, though nobody recorded them.
 */
const FROM_SESSION = 'session-';

/** Tell whether a run was recorded elsewhere, so that its session is not on this server. */
export function isImported({ uploaded, captured, run }: Pick<Film, 'uploaded' | 'captured' | 'run'>): boolean {
  return uploaded || (captured && !run.startsWith(FROM_SESSION));
}

/** Return a function that is computed once for each film, or each part of one. */
export function once<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>();
  return (key) => {
    let found = known.get(key);
    if (!found) known.set(key, (found = { value: compute(key) }));
    return found.value;
  };
}

/** Return items by what they share, in their order. */
export function grouped<Kind, Shared>(items: readonly Kind[], by: (item: Kind) => Shared): Map<Shared, Kind[]> {
  const found = new Map<Shared, Kind[]>();
  for (const item of items) {
    const known = found.get(by(item));
    if (known) known.push(item);
    else found.set(by(item), [item]);
  }
  return found;
}
