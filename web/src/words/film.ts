/** Words for what happened in a run: events, and what cannot be shown. */

type Value = string | number;

export const fileDoesNotContain = 'This file does not contain the app.';
export const runWasRecordedElsewhere = 'The run was recorded elsewhere: its app is not known here.';
export const onlyAdministratorsCanSeeInstructions = 'Only administrators can see instructions and tools.';
export const fileContainsOnlyPart = 'This file contains only part of a long run. Open the run on its server to see this event.';
export const userMessage = 'user message';
export const runStarted = 'run started';
export const proofOf = (name: Value) => `proof of ${name}`;
export const theAnswer = 'the answer';
export const source = (title: Value) => `source ${title}`;
export const called = (agent: Value, model: Value) => `${agent} called ${model}`;
export const run = (outcome: Value) => `run ${outcome}`;
export const started = (name: Value) => `${name} started`;
export const isWaiting = 'is waiting';
export const isThinking = 'is thinking';
export const wroteText = 'wrote text';
export const wasDenied = 'was denied';
export const didNotReturn = 'did not return';
export const needsApproval = 'needs approval';
export const file = (mediaType: Value) => `file ${mediaType}`;
export const failed = (speaker: Value, code: Value) => `${speaker} failed: ${code}`;
export const transferTo = (to: Value) => `transfer to ${to}`;
export const needsInput = 'needs input';
export const notInTheLogAny = 'It is no longer in the log.';
export const fileDoesNotContainWhat = 'This file does not contain what was sent to the model.';
export const onlyAdministratorsCanSeeWhat = 'Only administrators can see what was sent to the model.';
export const needsACredential = 'needs a credential';
