/** Names of the panels. */

type Value = string | number;

export const goToEvent = (cursor: Value) => `Go to event ${cursor}`;
export const eventNumber = (cursor: Value) => `event ${cursor}`;
export const graph = 'Graph';
export const state = 'State';
export const proof = 'Proof';
export const grounding = 'Grounding';
export const eventPanel = 'Event';
export const model = 'Model';
export const artifacts = 'Artifacts';
export const timeline = 'Timeline';
