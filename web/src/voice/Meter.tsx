/** How loud it is: the agent while it speaks, else the person. For the eye alone; what it means is said in words. */
import { useEffect, useRef } from 'react';
import type { Voice } from './voice';

/** Steps that can be told apart; the picture changes only with them, and without any motion of its own. */
const STEPS = 12;

/** The quietest that is shown, in decibels below full. */
const FLOOR = 48;

export function Meter({ voice }: { voice: Voice }) {
  const bar = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let shown = -1;
    return voice.meter((level) => {
      const next = stepOf(level);
      if (next !== shown) bar.current?.style.setProperty('--level', String((shown = next) / STEPS));
    });
  }, [voice]);
  return <span className="meter" ref={bar} aria-hidden="true" />;
}

/** Loudness is heard in proportions, so it is shown in decibels. */
export function stepOf(level: number): number {
  if (level <= 0) return 0;
  return Math.max(0, Math.min(STEPS, Math.round((1 + (20 * Math.log10(level)) / FLOOR) * STEPS)));
}
