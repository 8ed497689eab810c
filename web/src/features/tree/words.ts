/** Values in a few words, and the marks of steps. */
import type { Json } from '@adk-prism/client/film';
import type { IconName } from '../../ui/Icon';
import type { Kind } from '../../ui/Kind';
import type { Step, StepKind } from './steps';

const LONGEST = 80;

/** Return a value in one line: the scalars of an object by name, a text as it begins. */
export function preview(value: Json | undefined): string {
  const text =
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value)
          .map(([key, each]) => `${key}: ${typeof each === 'object' && each !== null ? '…' : String(each)}`)
          .join(', ')
      : typeof value === 'string'
        ? value
        : value === undefined || value === null
          ? ''
          : JSON.stringify(value);
  const line = text
    .slice(0, LONGEST + 1)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

export const STEP_ICONS: Record<StepKind, IconName> = {
  agent: 'agent',
  tool: 'tool',
  workflow: 'branch',
  function: 'code',
  join: 'branch',
  node: 'neutral',
  model: 'reasoning',
  text: 'text',
  approval: 'approval',
  state: 'state',
  error: 'error',
};

/** What a step is called in a sentence. */
export const STEP_WORDS: Record<StepKind, string> = {
  agent: 'Agent',
  tool: 'Tool',
  workflow: 'Workflow',
  function: 'Function',
  join: 'Join',
  node: 'Node',
  model: 'Model call',
  text: 'Text',
  approval: 'Approval',
  state: 'State change',
  error: 'Failure',
};

/** Return the number of a model call in its answer, as the Model panel counts them; null for other steps. */
export function callNumber({ id, kind }: Pick<Step, 'id' | 'kind'>): number | null {
  return kind === 'model' ? Number(id.slice(1)) + 1 : null; // Its id has its place among the calls.
}

const HUES: Partial<Record<StepKind, Kind>> = {
  agent: 'neutral',
  tool: 'tool',
  model: 'text',
  text: 'text',
  approval: 'approval',
  state: 'state',
  error: 'error',
};

/** Return the hue of a step: that of its kind, unless it failed or waits. */
export function hueOf({ kind, status }: Pick<Step, 'kind' | 'status'>): Kind {
  if (status === 'failed') return 'error';
  if (status === 'waiting' || status === 'denied') return 'approval';
  return HUES[kind] ?? 'neutral';
}

export const STATUS_WORDS: Record<Step['status'], string> = {
  running: 'Running',
  finished: 'Done',
  failed: 'Failed',
  waiting: 'Waiting',
  answered: 'Answered',
  denied: 'Denied',
  stopped: 'Stopped',
};
