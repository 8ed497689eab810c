/** Words of the panel Model. */

type Value = string | number;

export const model = 'Model';
export const callOf = (count: Value, count2: Value) => `call ${count} of ${count2}`;
export const copyAsJson = 'Copy as JSON';
export const modelCall = 'Model call';
export const startTheServerWithModel = 'Start the server with --model-calls full to record requests and responses.';
export const onlyASummaryWasRecorded = 'Only a summary was recorded';
export const loadingTheModelCall = 'Loading the model call';
export const requestIsNotAvailable = 'The request is not available';
export const moveThePlayhead = 'Move the playhead on to see the first one.';
export const noModelCallYet = 'No model call yet';
export const noModelCalls = 'No model calls';
export const recordingDoesNotContainWhat = 'This recording does not contain what was sent to models.';
export const whatWasSentToModels = 'What was sent to models is recorded for apps that run in this server, unless --model-calls is off.';
export const previousModelCall = 'Previous model call';
export const nextModelCall = 'Next model call';
export const agent = 'agent';
export const firstToken = (value: Value) => `first token ${value}`;
export const total = (value: Value) => `total ${value}`;
export const tooLargeToBeKept = (value: Value) => `Too large to be kept whole: ${value}.`;
export const instruction = 'Instruction';
export const messages = 'Messages';
export const tools = 'Tools';
export const config = 'Config';
export const response = 'Response';
export const sinceTheAgentsLastCall = "Since the agent's last call";
export const wasIn = 'It was in';
export const thisConversation = 'of this conversation.';
export const earlierRun = 'an earlier run';
export const unchanged = 'unchanged,';
export const added = 'added,';
export const removed = 'removed';
export const instructionToolsAndConfigUnchanged = '; instruction, tools and config unchanged';
export const earlierMessage = 'earlier message';
export const unknown = 'unknown';
export const notKept = 'not kept';
