/** The playhead: which entry of which run every panel shows. */
import { useCallback } from 'react';
import { useRoute } from '../app/route';
import type { Film } from '../film/film';

export type Playhead = {
  at: number;
  /** Looking back: the playhead is not at the end. */
  isPast: boolean;
  seek(cursor: number): void;
  toEnd(): void;
};

/** Return the playhead of a film; `isOver` says that other runs of the answer came after it. */
export function usePlayhead(film: Film | null, isOver = false): Playhead {
  const [route, move] = useRoute();
  const last = film?.last ?? 0;
  const at = route.at === null ? last : Math.min(Math.max(1, route.at), last);
  const isPast = film !== null && (isOver || at < last);
  const { options } = route;
  const toEnd = useCallback(() => move({ at: null, options: { ...options, run: '' } }, 'replace'), [move, options]);
  // At the end the playhead is "now": it moves on with a run that is live.
  const seek = useCallback(
    (cursor: number) => move({ at: cursor >= last ? null : Math.max(1, cursor) }, 'replace'),
    [move, last],
  );
  return { at, isPast, seek, toEnd };
}
