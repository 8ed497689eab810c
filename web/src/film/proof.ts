/** What stood behind the answer at a cursor. */
import type { Proof, SourceAbout } from './document';
import type { Film } from './film';
import { lastUpTo, present } from './bisect';

const WHOLE = 'proof';
const CLASSES = ['function call', 'function response', 'model text', 'other'];
const ABSENT: Proof = {
  origin: 'absent',
  confidence: null,
  derivation: 'none stated',
  readings: [],
  citations: [],
  reasoning_chain: [],
};

export type ShownProof = Proof & { since?: number };
export type ProofView = {
  /** Of the whole; null before the run is over. */
  answer: ShownProof | null;
  specialists: ShownProof[];
  sources: (SourceAbout & { cursor: number })[];
  /** Cursor of the entry with which the answer was complete. */
  completion: number | null;
  events: Record<string, number>;
};

export function proofAt(film: Film, at: number): ProofView {
  const ended = film.ended && film.ended.cursor <= at ? film.ended : null;
  const shown = new Map<string, ShownProof>();
  for (const item of film.items.proofs) {
    const mark = lastUpTo(item.marks, at);
    if (mark) shown.set(item.is.id, { ...mark[1], since: mark[0] });
  }
  const counts = new Map(film.items.classes.map((item) => [item.is.id, lastUpTo(item.marks, at)?.[1] ?? 0]));
  return {
    answer: ended ? (shown.get(WHOLE) ?? ABSENT) : null,
    specialists: [...shown].filter(([id]) => id !== WHOLE).map(([, proof]) => proof),
    sources: present(film.items.sources, at).map((item) => ({ ...item.is, cursor: item.since })),
    completion: ended?.completion ?? null,
    events: Object.fromEntries(CLASSES.map((name) => [name, counts.get(name) ?? 0])),
  };
}
