/** The panels around the chat, in the order of their tabs. */
import { lazyWithRetry } from '../app/lazyWithRetry';
import type { PanelSpec } from './panel';

export const PANELS: readonly PanelSpec[] = [
  { name: 'graph', title: 'Graph', key: '1', place: 'centre', Panel: lazyWithRetry(() => import('./graph/GraphPanel')) },
  { name: 'state', title: 'State', key: '2', place: 'inspector', Panel: lazyWithRetry(() => import('./state/StatePanel')) },
  { name: 'proof', title: 'Proof', key: '3', place: 'inspector', Panel: lazyWithRetry(() => import('./proof/ProofPanel')) },
  { name: 'grounding', title: 'Grounding', key: '4', place: 'inspector', Panel: lazyWithRetry(() => import('./grounding/GroundingPanel')) },
  { name: 'event', title: 'Event', key: '5', place: 'inspector', Panel: lazyWithRetry(() => import('./event/EventPanel')) },
  { name: 'model', title: 'Model', key: '6', place: 'inspector', Panel: lazyWithRetry(() => import('./model/ModelPanel')) },
  { name: 'artifacts', title: 'Artifacts', key: '7', place: 'inspector', Panel: lazyWithRetry(() => import('./artifacts/ArtifactsPanel')) },
  { name: 'timeline', title: 'Timeline', key: 't', place: 'bottom', Panel: lazyWithRetry(() => import('./timeline/TimelinePanel')) },
];
