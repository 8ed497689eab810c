/** Recordings that come with the page: runs of the bundled tour with its offline scripted model. */
import agentTool from './agent-tool.jsonl?raw';
import recovered from './recovered.jsonl?raw';
import specialists from './specialists.jsonl?raw';

export const TEXTS = { specialists, recovered, 'agent-tool': agentTool } as const;
export type SampleName = keyof typeof TEXTS;
