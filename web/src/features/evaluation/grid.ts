/** A set over time: its cases, and their scores in the newest evaluations (`GET /api/evals/{app}/grid`). Pure. */
import type { Metric, Result, Verdict } from './EvalsPage';
import { number } from '../../ui/format';

export type Cell = { verdict: Verdict; error: string; metrics: Metric[]; run: string | null };

export type GridCase = {
  id: string;
  text: string;
  messages: number;
  expectedRun: string | null;
  /** What it does not say, so that some metrics have nothing to compare with. */
  missing: string[];
  /** By the id of the result. */
  cells: Readonly<Record<string, Cell>>;
};

/** What came of a case in one column, in many trials. */
export type TrialCell = {
  subject: string;
  column: string;
  trials: number;
  passed: number;
  interval: [number, number];
  cost: number | null;
  seconds: number | null;
  stopped: string;
};
export type Trials = { evalSetId: string; time: number; cells: TrialCell[] };

/** Say how often trials passed, and between which rates the true one is, likely: `7/10, 40–89%`. */
export function rateWords({ passed, trials, interval: [low, high] }: TrialCell): string {
  return `${passed}/${trials}, ${Math.round(100 * low)}–${Math.round(100 * high)}%`;
}

/** Results come newest first; `missing` says why metrics of the set cannot be computed. */
export type Grid = {
  results: Result[];
  cases: GridCase[];
  /** The newest first. */
  trials: Trials[];
  missing: string[];
  /** Not where packages are missing, or the criteria cannot be read: then none can be computed. */
  canEvaluate: boolean;
};

/** Return the mean of what the metrics with a verdict say; null: none does. */
export function scoreOf({ metrics }: Cell): number | null {
  const scores = metrics.flatMap(({ score, verdict }) =>
    score !== null && (verdict === 'passed' || verdict === 'failed') ? [score] : [],
  );
  return scores.length ? scores.reduce((sum, score) => sum + score, 0) / scores.length : null;
}

/** Return the cell of a case in the evaluation before, of those that it was in. */
export function cellBefore(row: GridCase, results: readonly Result[], id: string): Cell | undefined {
  const at = results.findIndex((result) => result.id === id);
  const before = results.slice(at + 1).find((result) => row.cells[result.id]);
  return before && row.cells[before.id];
}

/** Return how a score has changed; null where there is nothing to compare, 0 where it is the same. */
export function changeOf(now: Cell, before: Cell | undefined): number | null {
  const [score, earlier] = [scoreOf(now), before ? scoreOf(before) : null];
  return score === null || earlier === null ? null : Math.round((score - earlier) * 100) / 100;
}

/** Say why a case did not pass, in a line; empty if it did. */
export function whyNot(cell: Cell): string {
  if (cell.verdict === 'passed') return '';
  if (cell.error) return cell.error;
  return cell.metrics
    .flatMap(({ name, score, threshold, verdict, reason }) => {
      if (verdict === 'failed') return [`${name} ${rounded(score)}, at least ${threshold ?? '?'} is needed`];
      if (verdict === 'not evaluated') return [`${name} was not evaluated${reason ? `: ${reason}` : ''}`];
      return [];
    })
    .join('; ');
}

export function rounded(score: number | null): string {
  return score === null ? '–' : number(score);
}
