/** Two runs compared, as `GET /api/compare` answers (`features/compare/comparison.py`). */
import type { Outcome } from '@adk-prism/client/film';
import { useServerData } from '../../app/query';
import { getJson } from '../../app/server';

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
