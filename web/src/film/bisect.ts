/** Time travel rests on this: what holds at a cursor is found by bisection, not by copying. */
import type { Item, Mark } from './document';

export { isReplaced } from '@adk-prism/client/film';

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
