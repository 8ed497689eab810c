import { expect, test } from 'vitest';
import type { Metric, Result } from './EvalsPage';
import { cellBefore, changeOf, rateWords, scoreOf, whyNot, type Cell, type GridCase, type TrialCell } from './grid';

const metric = (name: string, score: number | null, verdict: Metric['verdict'], reason = ''): Metric => ({
  name,
  score,
  threshold: 0.8,
  verdict,
  reason,
});
const cell = (...metrics: Metric[]): Cell => ({ verdict: 'failed', error: '', metrics, run: 'r' });

test('a score is the mean of what was judged; informational metrics do not count', () => {
  expect(
    scoreOf(cell(metric('a', 1, 'passed'), metric('b', 0.5, 'failed'), metric('tokens', 900, 'informational'))),
  ).toBe(0.75);
  expect(scoreOf(cell(metric('b', null, 'not evaluated')))).toBeNull();
});

test('a cell is compared with the one before, of those evaluations that had the case', () => {
  const results = ['new', 'middle', 'old'].map((id) => ({ id }) as Result);
  const [now, old] = [cell(metric('a', 0.9, 'passed')), cell(metric('a', 0.6, 'failed'))];
  const row = { cells: { new: now, old } } as unknown as GridCase;
  expect(cellBefore(row, results, 'new')).toBe(old);
  expect(cellBefore(row, results, 'old')).toBeUndefined();
  expect(changeOf(now, old)).toBe(0.3);
  expect(changeOf(old, undefined)).toBeNull();
});

test('what did not pass says why', () => {
  expect(whyNot(cell(metric('a', 0.414, 'failed'), metric('b', null, 'not evaluated', 'no key')))).toBe(
    'a 0.41, at least 0.8 is needed; b was not evaluated: no key',
  );
  expect(whyNot({ ...cell(), error: 'The run failed.' })).toBe('The run failed.');
  expect(whyNot({ ...cell(), verdict: 'passed', error: 'a note' })).toBe('');
});

test('trials are told with the rates between which the true one likely is', () => {
  expect(rateWords({ passed: 7, trials: 10, interval: [0.3968, 0.8922] } as TrialCell)).toBe('7/10, 40–89%');
});
