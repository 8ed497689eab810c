/** The eval sets of an app: add a run to one, evaluate them, and see what came of it over time. */
import { useState, type FormEvent } from 'react';
import { useServerData } from '../../app/query';
import { explain, getJson, postJson, path } from '../../app/server';
import { linkTo, useRoute } from '../../app/route';
import { Details, Empty, Time } from '../../ui/elements';
import { Icon, type IconName } from '../../ui/Icon';
import { shorten } from '../../ui/Copy';
import { KindChip, type Kind } from '../../ui/Kind';
import { plural, number } from '../../ui/format';
import '../../home/home.css';
import { useTitle } from '../../ui/hooks';
import { EvalGrid, Missing, useGrid } from './EvalGrid';
import './evals.css';

/** Eval sets, evaluations and results, as `GET /api/evals/{app}` tells them. */
export type Verdict = 'passed' | 'failed' | 'not evaluated' | 'informational';

export type Metric = { name: string; score: number | null; threshold: number | null; verdict: Verdict; reason: string };

export type Case = {
  id: string;
  verdict: Verdict;
  metrics: Metric[];
  text?: string;
  error: string;
  runs: string[];
  expectedRun: string | null;
};

export type EvalSet = {
  id: string;
  problem?: string;
  cases: { id: string; text: string; messages: number; expectedRun: string | null }[];
};

export type Result = { id: string; evalSetId: string; time: number; passed: number; count: number };

export type Evaluation = { id: string; evalSetId: string } & (
  | { status: 'running'; cases: { id: string; runs: string[] }[] }
  | { status: 'failed'; error: string }
  | { status: 'finished'; passed: number; cases: Case[] }
);

export type Evals = { sets: EvalSet[]; results: Result[]; evaluations: Evaluation[] };

export const VERDICTS: Record<Verdict, { kind: Kind; icon: IconName; word: string }> = {
  passed: { kind: 'state', icon: 'check', word: 'Passed' },
  failed: { kind: 'error', icon: 'error', word: 'Failed' },
  'not evaluated': { kind: 'neutral', icon: 'neutral', word: 'Not evaluated' },
  informational: { kind: 'neutral', icon: 'neutral', word: '' },
};

/** What may be typed as the name of a new set: as ADK demands, and spaces, for which `_` is written. */
const SET_NAME = '[A-Za-z0-9_ ]{1,100}';

const setNamed = (typed: string): string => typed.trim().replaceAll(/ +/g, '_');

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

/** What a run would be as a case; `problem`: it cannot be one. */
type Check = { messages: number; text?: string; problem?: string; missing: string[] };

const AGAIN_MS = 1000;

export default function EvalsPage({ app }: { app: string }) {
  useTitle('Evaluation', app);
  const [{ options }, move] = useRoute();
  const { evals, problem, reload } = useEvals(app);
  const [refused, setRefused] = useState('');
  const [starting, setStarting] = useState('');
  const start = (set: string) => {
    setRefused('');
    setStarting(set); // The server imports ADK's evaluators first, which takes seconds.
    evaluate(app, set)
      .then(reload, (error: unknown) => setRefused(explain(error)))
      .finally(() => setStarting(''));
  };
  const others = evals?.results.filter(({ evalSetId }) => !evals.sets.some(({ id }) => id === evalSetId)) ?? [];
  return (
    <div className="home evals">
      <h1>{`Evaluation of ${app}`}</h1>
      {options.run && (
        <AddRun
          app={app}
          run={options.run}
          sets={evals?.sets ?? []}
          onAdded={() => {
            move({ options: {} }, 'replace');
            reload();
          }}
        />
      )}
      {[problem, refused].map(
        (text) =>
          text && (
            <div key={text} className="notice" data-kind="error" role="alert">
              <Icon name="error" /> {text}
            </div>
          ),
      )}
      {evals?.sets.length === 0 && (
        <Empty title="No eval sets yet">
          Open a good run, and choose Share, Add to evaluation: its messages, tool calls and answers are what is
          expected from then on. Each evaluation then is a column here, each case a row. Files named *.evalset.json
          beside the agent appear, too.
        </Empty>
      )}
      {evals?.evaluations.map((evaluation) => (
        <Running key={evaluation.id} evaluation={evaluation} />
      ))}
      {evals?.sets.map((set) => (
        <SetSection
          key={set.id}
          app={app}
          set={set}
          newest={evals.results[0]?.id ?? ''}
          isStarting={starting === set.id}
          onRun={() => start(set.id)}
        />
      ))}
      {evals && others.length > 0 && (
        <section aria-labelledby="eval-results">
          <h2 id="eval-results">Results of other sets</h2>
          {others.map((result) => (
            <StoredResult key={result.id} app={app} result={result} isOpen={false} />
          ))}
        </section>
      )}
    </div>
  );
}

/** Load what there is, and again while something is being evaluated. */
function useEvals(app: string): { evals: Evals | null; problem: string; reload(): void } {
  const { data, error, refetch } = useServerData(['evals', app], (signal) => loadEvals(app, signal), {
    refetchInterval: (found) => (found?.evaluations.some(({ status }) => status === 'running') ? AGAIN_MS : false),
  });
  return { evals: data ?? null, problem: error ? explain(error) : '', reload: () => void refetch() };
}

function AddRun({ app, run, sets, onAdded }: { app: string; run: string; sets: readonly EvalSet[]; onAdded(): void }) {
  const [typed, setTyped] = useState('');
  const name = sets.some(({ id }) => id === typed) ? typed : setNamed(typed);
  const [problem, setProblem] = useState('');
  const query = new URLSearchParams({ run, set: sets.some(({ id }) => id === name) ? name : '' });
  const load = (signal: AbortSignal) => getJson<Check>(`${path('api', 'evals', app, 'check')}?${query}`, signal);
  const { data: check } = useServerData(['eval check', app, String(query)], load, { keepPrevious: true });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    addRun(app, name, run).then(onAdded, (error: unknown) => setProblem(explain(error)));
  };
  return (
    <form className="card" onSubmit={submit}>
      <h2>Add a conversation</h2>
      <p>
        The conversation up to <a href={linkTo({ kind: 'run', run })}>{check?.text ? `“${check.text}”` : 'this run'}</a>{' '}
        {check && check.messages > 1 && `(${plural(check.messages, 'message')}) `}
        {'becomes a case: its messages, tool calls and answers are what is expected from now on.'}
      </p>
      <Missing words={[...(check?.problem ? [check.problem] : []), ...(check?.missing ?? [])]} />
      <div className="card-form">
        <input
          className="field"
          aria-label="Eval set"
          placeholder="Eval set: an existing or a new name"
          list="eval-sets"
          required
          pattern={SET_NAME}
          title="Letters, digits, _ and spaces"
          autoFocus
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <datalist id="eval-sets">
          {sets.map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <button type="submit" className="button" data-look="primary">
          Add
        </button>
      </div>
      {problem && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {problem}
        </div>
      )}
    </form>
  );
}

type SetProps = { app: string; set: EvalSet; newest: string; isStarting: boolean; onRun(): void };

function SetSection({ app, set, newest, isStarting, onRun }: SetProps) {
  const grid = useGrid(app, set.id, newest, !set.problem && set.cases.length > 0);
  return (
    <section aria-label={`Eval set ${set.id}`}>
      <header className="eval-head">
        <h2>{set.id}</h2>
        <span className="quiet">{plural(set.cases.length, 'case')}</span>
        <button
          type="button"
          className="button"
          data-look="primary"
          disabled={set.cases.length === 0 || isStarting || grid.data?.canEvaluate === false}
          onClick={onRun}
        >
          <Icon name="play" /> {isStarting ? 'Starting…' : 'Evaluate'}
        </button>
      </header>
      {set.problem ? (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {set.problem}
        </div>
      ) : set.cases.length ? (
        <EvalGrid set={set.id} loaded={grid} />
      ) : (
        <p className="quiet">No cases yet. Open a good run, and choose Add to evaluation.</p>
      )}
    </section>
  );
}

/** One that runs, or that failed; those that are over are among the results. */
function Running({ evaluation }: { evaluation: Evaluation }) {
  switch (evaluation.status) {
    case 'finished':
      return null;
    case 'failed':
      return (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {evaluation.evalSetId}: {evaluation.error}
        </div>
      );
    case 'running': {
      const begun = evaluation.cases.filter(({ runs }) => runs.length > 0).length;
      return (
        <div className="notice" role="status">
          <Icon name="play" />{' '}
          {`Evaluating ${evaluation.evalSetId}: ${begun} of ${plural(evaluation.cases.length, 'case')} started`}
          <span className="actions">
            {evaluation.cases
              .flatMap(({ runs }) => runs.slice(-1))
              .map((run) => (
                <a key={run} href={linkTo({ kind: 'run', run })}>
                  {shorten(run)}
                </a>
              ))}
          </span>
        </div>
      );
    }
  }
}

function StoredResult({ app, result, isOpen }: { app: string; result: Result; isOpen: boolean }) {
  const isPassed = result.passed === result.count;
  return (
    <Details
      open={isOpen}
      className="eval-result"
      summary={
        <>
          <KindChip kind={isPassed ? 'state' : 'error'} icon={isPassed ? 'check' : 'error'}>
            {`${number(result.passed)} of ${number(result.count)} passed`}
          </KindChip>{' '}
          {result.evalSetId} · <Time at={result.time} />
        </>
      }
    >
      {() => <Loaded app={app} id={result.id} />}
    </Details>
  );
}

function Loaded({ app, id }: { app: string; id: string }) {
  const { data: cases, error } = useServerData(['eval result', app, id], (signal) => loadResult(app, id, signal));
  if (error) return <p role="alert">{explain(error)}</p>;
  return cases ? <CaseTable cases={cases} /> : <div className="skeleton" />;
}

/** The cases of a result: what each metric says, the run, and how it differs from the one that was expected. */
export function CaseTable({ cases }: { cases: readonly Case[] }) {
  return (
    <div className="table" role="region" aria-label="Cases" tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">Verdict</th>
            <th scope="col">Case</th>
            <th scope="col">Metrics</th>
            <th scope="col">Run</th>
            <th scope="col">Compare</th>
          </tr>
        </thead>
        <tbody>
          {cases.map((each) => (
            <Row key={each.id} evaluated={each} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ evaluated }: { evaluated: Case }) {
  const { kind, icon, word } = VERDICTS[evaluated.verdict];
  const last = evaluated.runs.at(-1);
  return (
    <tr>
      <td>
        <KindChip kind={kind} icon={icon}>
          {word}
        </KindChip>
      </td>
      <td title={evaluated.id}>{evaluated.text || shorten(evaluated.id, 24)}</td>
      <td>
        {evaluated.error && <span className="eval-error">{evaluated.error}</span>}
        <ul className="eval-metrics">
          {evaluated.metrics.map((metric) => (
            <Score key={metric.name} metric={metric} />
          ))}
        </ul>
      </td>
      <td>
        {evaluated.runs.map((run) => (
          <a key={run} href={linkTo({ kind: 'run', run })}>
            {shorten(run)}
          </a>
        ))}
        {!last && <span className="quiet">not in the log</span>}
      </td>
      <td>
        {last && evaluated.expectedRun ? (
          <a href={linkTo({ kind: 'compare', a: evaluated.expectedRun, b: last })}>with the expected run</a>
        ) : (
          '–'
        )}
      </td>
    </tr>
  );
}

function Score({ metric }: { metric: Metric }) {
  return (
    <li data-verdict={metric.verdict} title={metric.reason || undefined}>
      {metric.name} <strong>{scoreWords(metric)}</strong>
      {metric.verdict === 'failed' && ' ✗'}
      {metric.verdict === 'not evaluated' && ` ${`not evaluated${metric.reason ? `: ${metric.reason}` : ''}`}`}
    </li>
  );
}
