/** Where the playhead goes: pure functions of film and cursor. Null: there is nowhere to go. */
import { failuresOf } from '../../film/failures';
import { once, type Film } from '../../film/film';
import { endAt, endOf, nodesAt, SECOND, timeAt } from '../../film/timeline';
import { useEffect, useRef } from 'react';
import { countNotPast, stepStarts } from './steps';

/** Plays the film: time goes by as it did, or faster, and long silences are shortened. */
export const SPEEDS = [1, 4, 16] as const;
export type Speed = (typeof SPEEDS)[number];

/** A silence of the run lasts at most so long, in microseconds of the film at 1×: nobody wants to watch one. */
const LONGEST_SILENCE = 1.5 * SECOND;

/** Move the playhead while `playing`; call `stop` at the end. */
export function usePlayback(
  film: Film,
  at: number,
  playing: boolean,
  speed: Speed,
  seek: (cursor: number) => void,
  stop: () => void,
): void {
  const now = useRef({ film, at, speed, seek, stop });
  useEffect(() => {
    now.current = { film, at, speed, seek, stop };
  });
  useEffect(() => {
    if (!playing) return;
    let time = timeAt(now.current.film, now.current.at);
    let before = performance.now();
    let shown = now.current.at;
    const step = (clock: number) => {
      const { film, at, speed, seek, stop } = now.current;
      if (at !== shown) time = timeAt(film, (shown = at)); // Somebody else moved the playhead.
      time += (clock - before) * 1000 * speed;
      before = clock;
      const next = at < film.last ? timeAt(film, at + 1) : time;
      if (next - time > LONGEST_SILENCE) time = next - LONGEST_SILENCE;
      const reached = Math.max(at, cursorAt(film, time));
      if (reached !== at) seek((shown = reached));
      if (reached >= film.last) stop();
      else frame = requestAnimationFrame(step);
    };
    let frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing]);
}

export type Move = (film: Film, at: number) => number | null;

export const nextEvent: Move = (film, at) => (at < film.last ? at + 1 : null);
export const previousEvent: Move = (_, at) => (at > 1 ? at - 1 : null);

/** Steps are the rows of the trace, one after the other as they began; behind the last one is the end. */
export const nextStep: Move = (film, at) => {
  const all = stepStarts(film);
  return all[countNotPast(all, at)] ?? (at < film.last ? film.last : null);
};
export const previousStep: Move = (film, at) => {
  const all = stepStarts(film);
  return all[countNotPast(all, at - 1) - 1] ?? (at > 1 ? 1 : null);
};

/** The cursors at which a node began or ended, in order. */
const bounds = once((film: Film): number[] => {
  const found = new Set<number>();
  for (const node of film.items.nodes) {
    found.add(node.since);
    const end = endOf(node);
    if (end) found.add(end.cursor);
  }
  return [...found].sort((a, b) => a - b);
});

export const nextNode: Move = (film, at) => bounds(film).find((cursor) => cursor > at) ?? null;
export const previousNode: Move = (film, at) => bounds(film).findLast((cursor) => cursor < at) ?? null;

/** The next failure; after the last one, the first. */
export const nextFailure: Move = (film, at) => after(failuresOf(film), at);

export function failureCount(film: Film): number {
  return failuresOf(film).length;
}

/** The next run of a node by this name; after the last one, the first. */
export function nextPeer(film: Film, at: number, name: string): number | null {
  const starts = film.items.nodes.filter((node) => node.is.name === name).map((node) => node.since);
  return after(starts, at);
}

/** The next of some cursors; after the last one, the first. */
export function nextOf(cursors: readonly number[], at: number): number | null {
  return after(cursors, at);
}

/** The previous of some cursors; before the first one, the last. */
export function previousOf(cursors: readonly number[], at: number): number | null {
  return cursors.findLast((cursor) => cursor < at) ?? cursors.at(-1) ?? null;
}

function after(cursors: readonly number[], at: number): number | null {
  return cursors.find((cursor) => cursor > at) ?? cursors[0] ?? null;
}

/** Return the name of the innermost node that runs, or ends, at a cursor; null if none does. */
export function nodeNameAt(film: Film, at: number): string | null {
  const there = nodesAt(film, at).filter((node) => !endAt(node, at - 1));
  return there.at(-1)?.is.name ?? null;
}

/** Return the last cursor that is not past a time, in microseconds. */
export function cursorAt(film: Film, time: number): number {
  let low = 1;
  let high = film.times.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (film.times[middle - 1]! <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
