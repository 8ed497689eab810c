/** Two runs side by side: what each answered, did and left behind. */
import { useEffect, useMemo, useState } from 'react';
import { explain } from '../app/problem';
import { getJson } from '../app/request';
import { linkTo } from '../app/route';
import { address } from '../app/serverUrl';
import { Copy } from '../ui/Copy';
import { Icon } from '../ui/Icon';
import { shorten } from '../ui/Id';
import { Json } from '../ui/Json';
import { KindChip } from '../ui/Kind';
import { duration, plural } from '../ui/format';
import { Time } from '../ui/Time';
import { costWords } from '../ui/tokens';
import { differing, middle, type ComparedRun, type Comparison } from './comparison';
import { RunChoice } from './RunChoice';
import { StepRow } from './StepRow';
import * as words from '../words/compare';
import './compare.css';

type State = { kind: 'loading' } | { kind: 'failed'; reason: string } | { kind: 'ready'; compared: Comparison };

const ROWS_SHOWN = 300; // More at once makes the browser slow; the rest comes on demand.

export default function ComparePage({ a, b }: { a: string; b: string | null }) {
  if (b === null) return <RunChoice run={a} />;
  return <TwoRuns a={a} b={b} />;
}

function TwoRuns({ a, b }: { a: string; b: string }) {
  const [state, setState] = useState<State>({ kind: 'loading' });
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Comparison>(`api/compare?${new URLSearchParams({ a, b })}`, leaving.signal).then(
      (compared) => setState({ kind: 'ready', compared }),
      (error: unknown) => leaving.signal.aborted || setState({ kind: 'failed', reason: explain(error) }),
    );
    return () => leaving.abort();
  }, [a, b]);
  switch (state.kind) {
    case 'loading':
      return <div className="skeleton page-skeleton" />;
    case 'failed':
      return (
        <div className="unopened">
          <h1>{words.compare}</h1>
          <div className="notice" data-kind="error" role="alert">
            <Icon name="error" />
            <span>{words.couldNotCompareTheseRuns(state.reason)}</span>
            <span className="actions">
              <a className="button" href={linkTo({ kind: 'compare', a, b: null })}>
                {words.chooseAnotherRun}
              </a>
            </span>
          </div>
        </div>
      );
    case 'ready':
      return <Compared compared={state.compared} />;
  }
}

function Compared({ compared }: { compared: Comparison }) {
  const { a, b, answer, state } = compared;
  return (
    <div className="compare">
      <header className="compare-head">
        <h1>{words.compare}</h1>
        {compared.same ? (
          <KindChip kind="state" icon="check">
            {words.runsAreTheSame}
          </KindChip>
        ) : (
          compared.differs.map((aspect) => (
            <KindChip key={aspect} kind="approval" icon="neutral">
              {words.different(aspect)}
            </KindChip>
          ))
        )}
        <span className="actions">
          <Copy text={() => `adk-prism compare ${a.run} ${b.run} --url ${address('')}`} label={words.copyTheCommandThatCompares}>
            {words.command}
          </Copy>
          <a className="button" data-look="quiet" href={linkTo({ kind: 'compare', a: b.run, b: a.run })}>
            {words.swap}
          </a>
          <a className="button" data-look="quiet" href={linkTo({ kind: 'compare', a: a.run, b: null })}>
            {words.anotherRun}
          </a>
        </span>
      </header>
      <div className="compare-pair">
        <About run={a} word="A" />
        <About run={b} word="B" />
      </div>
      <section aria-labelledby="compare-answer">
        <h2 id="compare-answer">{words.answer}</h2>
        <Answer a={answer.a} b={answer.b} />
      </section>
      <Steps compared={compared} />
      <section aria-labelledby="compare-state">
        <h2 id="compare-state">{words.stateAtTheEnd}</h2>
        {state.length === 0 && <p className="quiet">{words.sameInBoth}</p>}
        {state.map((row) => (
          <div key={row.key} className="compare-key" data-change={row.change}>
            <code>{row.key}</code>
            <div className="compare-pair">
              <div>{row.change === 'added' ? <span className="quiet">{words.notThere}</span> : <Json value={row.a} />}</div>
              <div>{row.change === 'removed' ? <span className="quiet">{words.notThere}</span> : <Json value={row.b} />}</div>
            </div>
          </div>
        ))}
      </section>
    </div>
  );
}

function About({ run, word }: { run: ComparedRun; word: string }) {
  const total = run.tokens.total;
  return (
    <div className="compare-run">
      <strong>{word}</strong> <a href={linkTo({ kind: 'run', run: run.run })}>{shorten(run.run, 28)}</a>
      <p>{run.message || <span className="quiet">{words.noMessage}</span>}</p>
      <p className="quiet">
        {run.app} · {run.outcome ?? words.runningState}
        {run.code && ` (${run.code})`} · {duration(run.seconds)}
        {total !== undefined && ` · ${words.tokens(total)}`}
        {run.failures > 0 && ` · ${plural(run.failures, 'failure')}`}
        {run.cost !== undefined && ` · ${costWords(run.cost)}`}
        {run.started !== null && (
          <>
            {' '}
            · <Time at={run.started} />
          </>
        )}
      </p>
    </div>
  );
}

function Answer({ a, b }: { a: string; b: string }) {
  const pieces = useMemo(() => middle(a, b), [a, b]);
  const shown = (changed: string) => (
    <div className="compare-text">
      {pieces.before}
      {changed && <mark>{changed}</mark>}
      {pieces.after}
      {pieces.before + changed + pieces.after === '' && <span className="quiet">{words.noAnswer}</span>}
    </div>
  );
  return (
    <div className="compare-pair">
      {shown(pieces.a)}
      {shown(pieces.b)}
    </div>
  );
}

function Steps({ compared }: { compared: Comparison }) {
  const changed = useMemo(() => differing(compared.steps), [compared]);
  const [isAll, setAll] = useState(changed.length === 0);
  const [count, setCount] = useState(ROWS_SHOWN);
  const rows = isAll ? compared.steps : changed;
  return (
    <section aria-labelledby="compare-steps">
      <h2 id="compare-steps">{words.steps}</h2>
      <label className="compare-all">
        <input type="checkbox" checked={!isAll} onChange={(event) => setAll(!event.currentTarget.checked)} /> {words.onlyWhatDiffers}
      </label>
      {rows.length === 0 && <p className="quiet">{isAll ? words.neitherRunDidAnything : words.allStepsAreTheSame}</p>}
      {rows.slice(0, count).map((step, index) => (
        <StepRow key={index} step={step} a={compared.a.run} b={compared.b.run} />
      ))}
      {rows.length > count && (
        <button type="button" className="button" onClick={() => setCount(count + ROWS_SHOWN)}>
          {rows.length - count} {words.more}
        </button>
      )}
    </section>
  );
}
