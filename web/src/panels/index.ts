/** The panels around the chat, in the order of their tabs. */
import { lazyWithRetry } from '../app/lazyWithRetry';
import type { PanelSpec } from './panel';
import * as words from '../words/panels';

export const PANELS: readonly PanelSpec[] = [
  { name: 'graph', title: words.graph, key: '1', place: 'centre', Panel: lazyWithRetry(() => import('./graph/GraphPanel')) },
  { name: 'state', title: words.state, key: '2', place: 'inspector', Panel: lazyWithRetry(() => import('./state/StatePanel')) },
  { name: 'proof', title: words.proof, key: '3', place: 'inspector', Panel: lazyWithRetry(() => import('./proof/ProofPanel')) },
  { name: 'grounding', title: words.grounding, key: '4', place: 'inspector', Panel: lazyWithRetry(() => import('./grounding/GroundingPanel')) },
  { name: 'event', title: words.eventPanel, key: '5', place: 'inspector', Panel: lazyWithRetry(() => import('./event/EventPanel')) },
  { name: 'model', title: words.model, key: '6', place: 'inspector', Panel: lazyWithRetry(() => import('./model/ModelPanel')) },
  { name: 'artifacts', title: words.artifacts, key: '7', place: 'inspector', Panel: lazyWithRetry(() => import('./artifacts/ArtifactsPanel')) },
  { name: 'timeline', title: words.timeline, key: 't', place: 'bottom', Panel: lazyWithRetry(() => import('./timeline/TimelinePanel')) },
];
