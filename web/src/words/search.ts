/** Words of the search for runs. */

type Value = string | number;

export const searchRuns = 'Search runs';
export const text = 'Text';
export const wordsInMessagesToolCalls = 'Words in messages, tool calls and errors';
export const outcome = 'Outcome';
export const any = 'any';
export const searching = 'Searching…';
export const noRunFits = 'No matching runs.';
export const andMore = 'and more';
export const someRunsCouldNot = 'Some runs could not be searched: they are not indexed yet, or too old.';
export const showMore = 'Show more';
export const runs = 'Runs';
export const message = 'Message';
export const app = 'App';
export const tokens = 'Tokens';
export const cost = 'Cost';
export const duration = 'Duration';
export const started = 'Started';
export const compare = 'Compare';
export const compareWith = 'with…';
export const compareWithAnotherRun = (title: Value) => `Compare ${title} with another run`;
export const tool = 'Tool';
export const agent = 'Agent';
export const model = 'Model';
export const error = 'Error';
export const errorExample = 'ValueError, or *';
export const stateKey = 'State key';
export const feedback = 'Feedback';
export const upDownAnyNone = 'up, down, any, none';
export const tokensFrom = 'Tokens from';
export const secondsFrom = 'Seconds from';
export const since = 'Since';
export const until = 'Until';
