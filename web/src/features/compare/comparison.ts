/** Two runs compared, as `GET /api/compare` answers (`features/compare/comparison.py`). */
import type { Outcome } from '@adk-prism/client/film';
import { useServerData } from '../../app/query';
import { getJson } from '../../app/server';
import { plural, number } from '../../ui/format';

export type Change = 'same' | 'changed' | 'moved' | 'added' | 'removed';

export type ComparedRun = {
  run: string;
  app: string;
  session: string;
  message: string;
  outcome: Outcome | null;
  code: string;
  started: number | null;
  seconds: number;
  entries: number;
  tokens: Record<string, number>;
  failures: number;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
};

/** A step as one of the runs has it. What is empty is left out. */
export type Side = {
  name: string;
  cursor: number;
  status: string;
  error?: string;
  text?: string;
  input?: unknown;
  output?: unknown;
  start: number;
  seconds: number;
  tokens?: Record<string, number>;
};

export type Step = {
  depth: number;
  kind: string;
  name: string;
  change: Change;
  differs?: string[];
  /** Parts of requests to models that differ, of the first two that do. */
  request?: { a: Record<string, unknown>; b: Record<string, unknown> };
  a?: Side;
  b?: Side;
};

export type KeyRow = { key: string; change: Change; a: unknown; b: unknown };

export type Comparison = {
  same: boolean;
  differs: string[];
  a: ComparedRun;
  b: ComparedRun;
  answer: { same: boolean; a: string; b: string };
  steps: Step[];
  state: KeyRow[];
};

/** The instruction of an agent, as each run gave it to its model. */
export type Instructions = { agent: string; a: string; b: string };

/** Return the instructions that differ, each once. */
export function changedInstructions({ steps }: Comparison): Instructions[] {
  const found = new Map<string, Instructions>();
  for (const { name, request } of steps) {
    if (!request || !('instruction' in request.a)) continue;
    const one = { agent: name, a: written(request.a.instruction), b: written(request.b.instruction) };
    found.set(JSON.stringify(one), one);
  }
  return [...found.values()];
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : value ? JSON.stringify(value, null, 2) : '';
}

/** Say what is the same and what differs, each part in a few words. */
export function summaryOf(compared: Comparison): string[] {
  const { answer, steps, state, differs } = compared;
  const tools = steps.filter(({ kind }) => kind === 'tool');
  const others = tools.filter(({ change }) => change !== 'same').length;
  const asked = new Set(steps.flatMap(({ request }) => (request ? Object.keys(request.a) : [])));
  const requests = REQUESTED.filter(([part]) => asked.has(part)).map(([, word]) => `${word}: changed`);
  if (!requests.length && differs.includes('requests')) requests.push('Prompt: changed');
  return [
    `Answer: ${answer.same ? 'same' : 'changed'}`,
    tools.length
      ? `Tools: ${others ? `${number(others)} of ${number(tools.length)} differ` : `same (${number(tools.length)})`}`
      : 'Tools: none',
    ...requests, // That none differs cannot be said: they need not be recorded.
    `Final state: ${state.length ? `${plural(state.length, 'key')} changed` : 'same'}`,
  ];
}

/** Parts of what a model is asked with, as the server names them. */
const REQUESTED = [
  ['model', 'Model'],
  ['instruction', 'Instruction'],
  ['tools', 'Declared tools'],
  ['config', 'Parameters'],
] as const;

/** Load how two runs differ. */
export function useComparison(a: string, b: string) {
  const load = (signal: AbortSignal) => getJson<Comparison>(`api/compare?${new URLSearchParams({ a, b })}`, signal);
  return useServerData(['comparison', a, b], load);
}

/** Return the steps that differ, each with those around it. */
export function differing(steps: readonly Step[]): Step[] {
  const shown = new Set<Step>();
  const around: Step[] = [];
  for (const step of steps) {
    around.length = step.depth;
    around.push(step);
    if (step.change !== 'same') for (const each of around) shown.add(each);
  }
  return steps.filter((step) => shown.has(step));
}
