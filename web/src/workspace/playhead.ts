/** The playhead: which entry of which run every panel shows. */
import { useCallback, useDeferredValue, useMemo } from 'react';
import { useRoute } from '../app/route';
import type { Film } from '../film/film';
import { cursorOf, partsOf, placeOf } from '../film/joined';

export type Playhead = {
  at: number;
  /** Looking back: the playhead is not at the end. */
  isPast: boolean;
  seek(cursor: number): void;
  toEnd(): void;
};

/**
 * Return the playhead of a film. The address names the run and its entry, also where the film is of several runs; `home`
 * is the run that the address does not name.
 */
export function usePlayhead(film: Film | null, home: string | null = null): Playhead {
  const [route, move] = useRoute();
  const last = film?.last ?? 0;
  const { options } = route;
  const wanted = film && route.at !== null ? place(film, options.run || home, route.at) : last;
  const at = Math.min(Math.max(1, wanted), last);
  const isPast = film !== null && at < last;
  const toEnd = useCallback(() => move({ at: null, options: { ...options, run: '' } }, 'replace'), [move, options]);
  // At the end the playhead is "now": it moves on with a run that is live.
  const seek = useCallback(
    (cursor: number) => {
      if (!film) return;
      if (cursor >= film.last) return move({ at: null }, 'replace');
      const { run, cursor: local } = placeOf(film, Math.max(1, cursor));
      move({ at: local, options: { ...options, run: run === home || home === null ? '' : run } }, 'replace');
    },
    [move, film, options, home],
  );
  return { at, isPast, seek, toEnd };
}

/** Return the cursor for what is slow to draw: it follows the playhead when there is time, into another film at once. */
export function useRested(film: Film | null, at: number): number {
  const now = useMemo(() => ({ film, at }), [film, at]);
  const rested = useDeferredValue(now);
  return rested.film === film ? rested.at : at;
}

function place(film: Film, run: string | null, at: number): number {
  return (run && cursorOf(film, run, at)) || Math.min(at + (partsOf(film).at(-1)?.offset ?? 0), film.last);
}
