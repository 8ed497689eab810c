/** The panel that a run opens by itself: a plan that waits for an answer, or what stands behind an answer. */
import { useState } from 'react';
import { lastUpTo } from '../film/bisect';
import type { Film } from '../film/film';
import { waitingPlan } from '../film/grounding';

/** Return the panel that a run asks for; once it did, it stays until another one is asked for. */
export function useSuggestedPanel(film: Film | null): string | null {
  const now = film && suggestedPanel(film);
  const [last, setLast] = useState(now);
  if (now !== null && now !== last) setLast(now);
  return now ?? last;
}

export function suggestedPanel(film: Film): string | null {
  if (waitingPlan(film)) return 'grounding';
  return film.ended && isBriefing(film) ? 'proof' : null;
}

/** An answer that says how sure it is, and rests on something. */
function isBriefing(film: Film): boolean {
  const whole = film.items.proofs.find((item) => item.is.id === 'proof');
  const proof = whole && lastUpTo(whole.marks, film.last)?.[1];
  return !!proof && (proof.confidence !== null || !!proof.level) && proof.citations.length > 0;
}
