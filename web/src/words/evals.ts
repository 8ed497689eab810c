/** Words of evaluations. */

type Value = string | number;

export const cases = 'Cases';
export const verdict = 'Verdict';
export const caseLabel = 'Case';
export const metrics = 'Metrics';
export const run = 'Run';
export const compare = 'Compare';
export const notInTheLog = 'not in the log';
export const expectedRun = 'with the expected run';
export const notEvaluatedWhy = (value: Value) => `not evaluated${value}`;
export const evalSetsOf = (app: Value) => `Eval sets of ${app}`;
export const openARun = 'Open a run that was right, and choose Share, Add to an eval set. Files named *.evalset.json beside the agent appear here, too.';
export const noEvalSetsYet = 'No eval sets yet';
export const sets = 'Sets';
export const results = 'Results';
export const addAConversation = 'Add a conversation';
export const conversationUpTo = 'The conversation up to';
export const becomesACaseItsMessages = 'becomes a case: its messages, tool calls and answers are what is expected from now on.';
export const evalSet = 'Eval set';
export const evalSetAnExisting = 'Eval set: an existing or a new name';
export const lettersDigitsAnd = 'Letters, digits and _';
export const add = 'Add';
export const starting = 'Starting…';
export const evaluate = 'Evaluate';
export const evaluatingOfStarted = (evalSetId: Value, begun: Value, count: Value) => `Evaluating ${evalSetId}: ${begun} of ${count} started`;
export const ofPassed = (passed: Value, count: Value) => `${passed} of ${count} passed`;
export const passed = 'Passed';
export const failed = 'Failed';
export const notEvaluatedVerdict = 'Not evaluated';
