/** Eval sets, evaluations and results, as `GET /api/evals/{app}` tells them. */
import { getJson, postJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Kind } from '../ui/Kind';
import type { IconName } from '../ui/Icon';
import * as words from '../words/evals';

export type Verdict = 'passed' | 'failed' | 'not evaluated' | 'informational';

export type Metric = { name: string; score: number | null; threshold: number | null; verdict: Verdict; reason: string };

export type Case = { id: string; verdict: Verdict; metrics: Metric[]; text?: string; error: string; runs: string[]; expectedRun: string | null };

export type EvalSet = { id: string; problem?: string; cases: { id: string; text: string; messages: number; expectedRun: string | null }[] };

export type Result = { id: string; evalSetId: string; time: number; passed: number; count: number };

export type Evaluation = { id: string; evalSetId: string } & (
  | { status: 'running'; cases: { id: string; runs: string[] }[] }
  | { status: 'failed'; error: string }
  | { status: 'finished'; passed: number; cases: Case[] }
);

export type Evals = { sets: EvalSet[]; results: Result[]; evaluations: Evaluation[] };

export const VERDICTS: Record<Verdict, { kind: Kind; icon: IconName; word: string }> = {
  passed: { kind: 'state', icon: 'check', word: words.passed },
  failed: { kind: 'error', icon: 'error', word: words.failed },
  'not evaluated': { kind: 'neutral', icon: 'neutral', word: words.notEvaluatedVerdict },
  informational: { kind: 'neutral', icon: 'neutral', word: '' },
};

/** Names that a new set may have, as ADK demands. */
export const SET_NAME = '[A-Za-z0-9_]{1,100}';

export function loadEvals(app: string, signal: AbortSignal): Promise<Evals> {
  return getJson(path('api', 'evals', app), signal);
}

export async function loadResult(app: string, id: string, signal: AbortSignal): Promise<Case[]> {
  return (await getJson<{ cases: Case[] }>(path('api', 'evals', app, 'results', id), signal)).cases;
}

export function evaluate(app: string, set: string, cases: readonly string[] = []): Promise<Evaluation> {
  return postJson(path('api', 'evals', app), { set, cases });
}

export function addRun(app: string, set: string, run: string): Promise<{ added: boolean }> {
  return postJson(path('api', 'evals', app, 'sets', set, 'cases'), { run });
}

/** Write a score with its threshold: `0.68 (≥ 0.8)`. */
export function scoreWords({ score, threshold }: Metric): string {
  if (score === null) return '–';
  const shown = String(Math.round(score * 1000) / 1000);
  return threshold === null ? shown : `${shown} (≥ ${threshold})`;
}
