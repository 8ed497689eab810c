/** Words of the panel Event. */

type Value = string | number;

export const aiSdk6 = 'AI SDK 6';
export const aiSdk7 = 'AI SDK 7';
export const studio = 'Studio';
export const event = 'Event';
export const atOf = (at: Value, last: Value) => `${at} of ${last}`;
export const copyAsJson = 'Copy as JSON';
export const eventNumber = (at: Value) => `Event ${at}`;
export const loadingTheEvent = 'Loading the event';
export const eventIsNotAvailable = 'This event is not available';
export const facts = 'Facts';
export const whatItMeans = 'what it means';
export const noFactsForThisEvent = 'No facts for this event.';
export const record = 'Record';
export const asRecorded = (type: Value) => `${type}, as recorded`;
export const reference = (correlation: Value) => `Reference: ${correlation}.`;
export const frames = 'Frames';
export const whatEachProtocolSends = 'what each protocol sends';
export const protocols = 'Protocols';
export const copyTheFrames = (value: Value) => `Copy the ${value} frames`;
export const id = 'id';
export const eventName = (event: Value) => `event ${event}`;
export const noFramesForThisEvent = 'No frames for this event';
