/** The eval sets of an app: add a run to one, evaluate them, and see what came of it over time. */
import { useCallback, useEffect, useState, type FormEvent } from 'react';
import { explain } from '../app/problem';
import { linkTo, useRoute } from '../app/route';
import { Details } from '../ui/Details';
import { Empty } from '../ui/Empty';
import { Icon } from '../ui/Icon';
import { shorten } from '../ui/Id';
import { KindChip } from '../ui/Kind';
import { Time } from '../ui/Time';
import { plural } from '../ui/format';
import { CaseTable } from './CaseTable';
import { addRun, evaluate, loadEvals, loadResult, SET_NAME, type Case, type Evals, type EvalSet, type Evaluation, type Result } from './evals';
import * as words from '../words/evals';
import '../home/home.css';
import './evals.css';

const AGAIN_MS = 1000;

export default function EvalsPage({ app }: { app: string }) {
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
  return (
    <div className="home evals">
      <h1>{words.evalSetsOf(app)}</h1>
      {options.run && <AddRun app={app} run={options.run} sets={evals?.sets ?? []} onAdded={() => (move({ options: {} }, 'replace'), reload())} />}
      {[problem, refused].map(
        (text) =>
          text && (
            <div key={text} className="notice" data-kind="error" role="alert">
              <Icon name="error" /> {text}
            </div>
          ),
      )}
      {evals?.sets.length === 0 && (
        <Empty title={words.noEvalSetsYet}>{words.openARun}</Empty>
      )}
      {evals && evals.sets.length > 0 && (
        <section aria-labelledby="eval-sets-title">
          <h2 id="eval-sets-title">{words.sets}</h2>
          <ul className="cards">
            {evals.sets.map((set) => (
              <SetCard key={set.id} set={set} isStarting={starting === set.id} onRun={() => start(set.id)} />
            ))}
          </ul>
        </section>
      )}
      {evals?.evaluations.map((evaluation) => <Running key={evaluation.id} evaluation={evaluation} />)}
      {evals && evals.results.length > 0 && (
        <section aria-labelledby="eval-results">
          <h2 id="eval-results">{words.results}</h2>
          {evals.results.map((result, index) => (
            <StoredResult key={result.id} app={app} result={result} isOpen={index === 0} />
          ))}
        </section>
      )}
    </div>
  );
}

/** Load what there is, and again while something is being evaluated. */
function useEvals(app: string): { evals: Evals | null; problem: string; reload(): void } {
  const [evals, setEvals] = useState<Evals | null>(null);
  const [problem, setProblem] = useState('');
  const [time, setTime] = useState(0);
  const reload = useCallback(() => setTime((known) => known + 1), []);
  useEffect(() => {
    const leaving = new AbortController();
    loadEvals(app, leaving.signal).then(
      (found) => (setEvals(found), setProblem('')),
      (error: unknown) => leaving.signal.aborted || setProblem(explain(error)),
    );
    return () => leaving.abort();
  }, [app, time]);
  useEffect(() => {
    if (!evals?.evaluations.some(({ status }) => status === 'running')) return;
    const timer = setTimeout(reload, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [evals, reload]);
  return { evals, problem, reload };
}

function AddRun({ app, run, sets, onAdded }: { app: string; run: string; sets: readonly EvalSet[]; onAdded(): void }) {
  const [name, setName] = useState('');
  const [problem, setProblem] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    addRun(app, name, run).then(onAdded, (error: unknown) => setProblem(explain(error)));
  };
  return (
    <form className="card" onSubmit={submit}>
      <h2>{words.addAConversation}</h2>
      <p>
        {words.conversationUpTo} <a href={linkTo({ kind: 'run', run })}>{shorten(run, 24)}</a> {words.becomesACaseItsMessages}
      </p>
      <div className="card-form">
        <input className="field" aria-label={words.evalSet} placeholder={words.evalSetAnExisting} list="eval-sets" required pattern={SET_NAME} title={words.lettersDigitsAnd} autoFocus value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <datalist id="eval-sets">
          {sets.map(({ id }) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <button className="button" data-look="primary">
          {words.add}
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

function SetCard({ set, isStarting, onRun }: { set: EvalSet; isStarting: boolean; onRun(): void }) {
  return (
    <li className="card" data-kind={set.problem ? 'error' : undefined}>
      <h3>{set.id}</h3>
      {set.problem ? (
        <p>{set.problem}</p>
      ) : (
        <>
          <Details summary={plural(set.cases.length, 'case')}>
            {() => (
              <ul>
                {set.cases.map((each) => (
                  <li key={each.id}>{each.expectedRun ? <a href={linkTo({ kind: 'run', run: each.expectedRun })}>{each.text || each.id}</a> : each.text || each.id}</li>
                ))}
              </ul>
            )}
          </Details>
          <div>
            <button type="button" className="button" data-look="primary" disabled={set.cases.length === 0 || isStarting} onClick={onRun}>
              <Icon name="play" /> {isStarting ? words.starting : words.evaluate}
            </button>
          </div>
        </>
      )}
    </li>
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
          <Icon name="play" /> {words.evaluatingOfStarted(evaluation.evalSetId, begun, plural(evaluation.cases.length, 'case'))}
          <span className="actions">
            {evaluation.cases.flatMap(({ runs }) => runs.slice(-1)).map((run) => (
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
            {words.ofPassed(result.passed, result.count)}
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
  const [cases, setCases] = useState<Case[] | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const leaving = new AbortController();
    loadResult(app, id, leaving.signal).then(setCases, (error: unknown) => leaving.signal.aborted || setProblem(explain(error)));
    return () => leaving.abort();
  }, [app, id]);
  if (problem) return <p role="alert">{problem}</p>;
  return cases ? <CaseTable cases={cases} /> : <div className="skeleton" />;
}
