/**
 * Hooks about what is drawn: how large it is, and when. Long things are drawn in steps: at once what fits on a screen, the rest while there is time. A playhead that jumps
 * through a long run so never waits for what nobody sees.
 */
import { startTransition, useEffect, useLayoutEffect, useReducer, useRef, useState, type RefObject } from 'react';

/** Between two steps, whoever drags or types has their turn. */
const PAUSE_MS = 40;

/** Return how many of `count` things to draw, from the first on: with every picture `step` more, up to all. */
export function useHead(count: number, step: number): number {
  const drawn = useRef(0);
  const now = Math.min(count, drawn.current + step);
  useLayoutEffect(() => void (drawn.current = now));
  useGoingOn(now < count);
  return now;
}

/** Return from where on to draw a thing of a length, up to its end: with every picture `step` more, down to `least`. */
export function useTail(length: number, step: number, least = 0): number {
  const drawn = useRef({ from: 0, length: 0 });
  const from = nextFrom(drawn.current, length, step, least);
  useLayoutEffect(() => void (drawn.current = { from, length }));
  useGoingOn(from > least);
  return from;
}

/** Of what was drawn before, nothing may be left to be seen: then the end comes first again. */
export function nextFrom(
  before: { from: number; length: number },
  length: number,
  step: number,
  least: number,
): number {
  const hasJumped = length <= before.from || length - before.length > step;
  return Math.min(length, Math.max(least, hasJumped ? length - step : before.from - step));
}

/** Draw again after a pause, for as long as there is more. */
function useGoingOn(hasMore: boolean): void {
  const [, drawMore] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!hasMore) return;
    const timer = setTimeout(() => startTransition(drawMore), PAUSE_MS);
    return () => clearTimeout(timer);
  });
}

export type Size = { width: number; height: number };

/** Return the size of an element, as it changes. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** Name what a page shows in the title of its tab: "Refund order 17 · tour · adk-prism". */
export function useTitle(...words: readonly string[]): void {
  const title = [...words.filter(Boolean), 'adk-prism'].join(' · ');
  useEffect(() => {
    document.title = title;
  }, [title]);
}
