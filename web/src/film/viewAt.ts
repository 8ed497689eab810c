/** The whole film at a cursor: what `adk-prism view` prints, computed in the page. */
import { artifactsAt, type ArtifactView } from '../features/artifacts/content';
import { conversationAt, type Said } from './conversation';
import type { Outcome } from '@adk-prism/client/film';
import { failuresOf } from './failures';
import type { Film } from './film';
import { graphAt, type GraphView } from './graph';
import { groundingAt, type GroundingView } from '../features/grounding/grounding';
import { proofAt, type ProofView } from '../features/proof/sections';
import { stateAt, type StateView } from './state';
import { SECOND, timeAt, timelineAt, type TimelineView } from './timeline';

export type View = {
  at: number;
  last: number;
  run: string;
  app: string;
  session: string;
  outcome: Outcome | null;
  /** Absent without any. */
  timeline: TimelineView & { failures?: { cursor: number; time: number }[] };
  state: StateView;
  graph: GraphView;
  conversation: Said[];
  proof: ProofView;
  grounding: GroundingView;
  artifacts: ArtifactView[];
};

export function viewAt(film: Film, at: number): View {
  const failures = failuresOf(film)
    .filter((cursor) => cursor <= at)
    .map((cursor) => ({ cursor, time: timeAt(film, cursor) / SECOND }));
  return {
    at,
    last: film.last,
    run: film.run,
    app: film.app,
    session: film.session,
    outcome: film.ended && film.ended.cursor <= at ? film.ended.outcome : null,
    timeline: { ...timelineAt(film, at), ...(failures.length ? { failures } : {}) },
    state: stateAt(film, at),
    graph: graphAt(film, at),
    conversation: conversationAt(film, at),
    proof: proofAt(film, at),
    grounding: groundingAt(film, at),
    artifacts: artifactsAt(film, at),
  };
}
