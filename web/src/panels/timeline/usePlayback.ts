/** Plays the film: time goes by as it did, or faster, and long silences are shortened. */
import { useEffect, useRef } from 'react';
import type { Film } from '../../film/film';
import { SECOND, timeAt } from '../../film/timeline';
import { cursorAt } from './navigation';

export const SPEEDS = [1, 4, 16] as const;
export type Speed = (typeof SPEEDS)[number];

/** A silence of the run lasts at most so long, in microseconds of the film at 1×: nobody wants to watch one. */
const LONGEST_SILENCE = 1.5 * SECOND;

/** Move the playhead while `playing`; call `stop` at the end. */
export function usePlayback(film: Film, at: number, playing: boolean, speed: Speed, seek: (cursor: number) => void, stop: () => void): void {
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
