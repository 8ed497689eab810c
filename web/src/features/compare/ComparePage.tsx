/** Two runs side by side: what each answered, did and left behind. */
import { useMemo, useState, type FormEvent } from 'react';
import { useServerData } from '../../app/query';
import { explain, address, getJson } from '../../app/server';
import { linkTo, formatRoute, HOME, go } from '../../app/route';
import { Copy, shorten } from '../../ui/Copy';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { duration, plural, costWords } from '../../ui/format';
import { Time, Details } from '../../ui/elements';
import { middle } from '../../ui/wordDiff';
import { differing, type ComparedRun, type Comparison, type Change, type Side, type Step } from './comparison';
import { useFeature } from '../registry';
import { RunAgain } from '../rerun/RunAgain';
import { useTitle } from '../../ui/hooks';
import './compare.css';

/** Which run another one is compared with: one of the latest, or any by its id. */
type Listed = { run: string; app: string; title: string; outcome: string | null; started: number; duration: number };

const LISTED = 50;

export function RunChoice({ run }: { run: string }) {
  const load = (signal: AbortSignal) => getJson<Listed[]>(`api/runs?limit=${LISTED}`, signal);
  const { data: runs, error } = useServerData(['latest runs'], load);
  const choose = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('run') ?? '').trim();
    if (id) go({ ...HOME, place: { kind: 'compare', a: run, b: id } });
  };
  return (
    <div className="compare">
      <h1>{`Compare ${shorten(run, 28)} with…`}</h1>
      {useFeature('rerun') && <RunAgain run={run} />}
      <h2>Another run</h2>
      <form onSubmit={choose} className="compare-choice">
        <input className="field" name="run" placeholder="Run id" aria-label="Run id" />
        <button type="submit" className="button">
          Compare
        </button>
      </form>
      {error && <p role="alert">{explain(error)}</p>}
      {!runs && !error && <div className="skeleton card-skeleton" />}
      <ul className="compare-runs">
        {runs
          ?.filter((each) => each.run !== run)
          .map((each) => (
            <li key={each.run}>
              <a href={linkTo({ kind: 'compare', a: run, b: each.run })}>{each.title || shorten(each.run, 28)}</a>{' '}
              <span className="quiet">
                {each.app} · {each.outcome ?? 'running'} · {duration(each.duration)} · <Time at={each.started} />
              </span>
            </li>
          ))}
      </ul>
      {runs?.length === 0 && <p className="quiet">There is no other run yet.</p>}
    </div>
  );
}

/** One step of either run, or of both: a line, and what each run has of it. */
const WORDS: Record<Change, string> = {
  same: 'same',
  changed: 'changed',
  moved: 'moved',
  added: 'only in B',
  removed: 'only in A',
};

type Props = { step: Step; a: string; b: string };

export function StepRow({ step, a, b }: Props) {
  const { differs = [] } = step;
  const line = (
    <span className="compare-line" style={{ paddingLeft: `${Math.min(step.depth, 24) * 16}px` }}>
      <span className="compare-change">{WORDS[step.change]}</span>
      <span className="quiet">{step.kind}</span> <strong>{step.name}</strong>
      {differs.length > 0 && <span className="compare-differs">{differs.join(', ')}</span>}
      <span className="compare-times">
        {step.a && duration(step.a.seconds)} {step.a && step.b && '→'} {step.b && duration(step.b.seconds)}
      </span>
    </span>
  );
  return (
    <Details className="compare-step" data-change={step.change} summary={line}>
      {() => (
        <div className="compare-pair">
          <OneSide side={step.a} run={a} differs={differs} request={step.request?.a} />
          <OneSide side={step.b} run={b} differs={differs} request={step.request?.b} />
        </div>
      )}
    </Details>
  );
}

const VALUES = ['input', 'output'] as const;

type SideProps = {
  side: Side | undefined;
  run: string;
  differs: readonly string[];
  request: Record<string, unknown> | undefined;
};

function OneSide({ side, run, differs, request }: SideProps) {
  if (!side) return <div className="quiet">Not in this run</div>;
  const marked = (name: string) => (differs.includes(name) ? '' : undefined);
  return (
    <div>
      <p data-differs={marked('status')}>
        {side.name}: {side.status}
        {side.error && ` (${side.error})`} ·{' '}
        <a href={formatRoute({ ...HOME, place: { kind: 'run', run }, at: side.cursor })}>{`event ${side.cursor}`}</a>
      </p>
      {side.text && (
        <div className="compare-text" data-differs={marked('text')}>
          {side.text}
        </div>
      )}
      {request && (
        <div data-differs="">
          <JsonView name="model request" value={request} open={2} />
        </div>
      )}
      {VALUES.map(
        (name) =>
          side[name] !== undefined && (
            <div key={name} data-differs={marked(name)}>
              <JsonView name={name} value={side[name]} />
            </div>
          ),
      )}
    </div>
  );
}

const ROWS_SHOWN = 300; // More at once makes the browser slow; the rest comes on demand.

/** What is different between two runs, in words. */
const CHANGED: Readonly<Record<string, string>> = {
  answer: 'Answer changed',
  tools: 'Tools changed',
  nodes: 'Steps changed',
  agents: 'Agents changed',
  requests: 'Prompt changed',
  state: 'Final state changed',
  outcome: 'Outcome changed',
};

export default function ComparePage({ a, b }: { a: string; b: string | null }) {
  useTitle('Compare');
  if (b === null) return <RunChoice run={a} />;
  return <TwoRuns a={a} b={b} />;
}

function TwoRuns({ a, b }: { a: string; b: string }) {
  const load = (signal: AbortSignal) => getJson<Comparison>(`api/compare?${new URLSearchParams({ a, b })}`, signal);
  const { data, error } = useServerData(['comparison', a, b], load);
  if (data) return <Compared compared={data} />;
  if (!error) return <div className="skeleton page-skeleton" />;
  return (
    <div className="unopened">
      <h1>Compare</h1>
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{`Could not compare these runs: ${explain(error)}`}</span>
        <span className="actions">
          <a className="button" href={linkTo({ kind: 'compare', a, b: null })}>
            Choose another run
          </a>
        </span>
      </div>
    </div>
  );
}

function Compared({ compared }: { compared: Comparison }) {
  const { a, b, answer, state } = compared;
  return (
    <div className="compare">
      <header className="compare-head">
        <h1>Compare</h1>
        {compared.same ? (
          <KindChip kind="state" icon="check">
            The runs are the same
          </KindChip>
        ) : (
          compared.differs.map((aspect) => (
            <KindChip key={aspect} kind="approval" icon="neutral">
              {CHANGED[aspect] ?? `${aspect} changed`}
            </KindChip>
          ))
        )}
        <span className="actions">
          <Copy
            text={() => `adk-prism compare ${a.run} ${b.run} --url ${address('')}`}
            label="Copy the command that compares these runs"
          >
            Command
          </Copy>
          <a className="button" data-look="quiet" href={linkTo({ kind: 'compare', a: b.run, b: a.run })}>
            Swap
          </a>
          <a className="button" data-look="quiet" href={linkTo({ kind: 'compare', a: a.run, b: null })}>
            Another run…
          </a>
        </span>
      </header>
      <div className="compare-pair">
        <About run={a} word="A" />
        <About run={b} word="B" />
      </div>
      <section aria-labelledby="compare-answer">
        <h2 id="compare-answer">Answer</h2>
        <Answer a={answer.a} b={answer.b} />
      </section>
      <Steps compared={compared} />
      <section aria-labelledby="compare-state">
        <h2 id="compare-state">Final state</h2>
        {state.length === 0 && <p className="quiet">The same in both.</p>}
        {state.map((row) => (
          <div key={row.key} className="compare-key" data-change={row.change}>
            <code>{row.key}</code>
            <div className="compare-pair">
              <div>{row.change === 'added' ? <span className="quiet">missing</span> : <JsonView value={row.a} />}</div>
              <div>
                {row.change === 'removed' ? <span className="quiet">missing</span> : <JsonView value={row.b} />}
              </div>
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
      <p>{run.message || <span className="quiet">No message</span>}</p>
      <p className="quiet">
        {run.app} · {run.outcome ?? 'running'}
        {run.code && ` (${run.code})`} · {duration(run.seconds)}
        {total !== undefined && ` · ${`${total} tokens`}`}
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
      {pieces.before + changed + pieces.after === '' && <span className="quiet">No answer</span>}
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
      <h2 id="compare-steps">Steps</h2>
      <label className="compare-all">
        <input type="checkbox" checked={!isAll} onChange={(event) => setAll(!event.currentTarget.checked)} />{' '}
        {'Only what differs'}
      </label>
      {rows.length === 0 && <p className="quiet">{isAll ? 'Neither run did anything.' : 'All steps are the same.'}</p>}
      {rows.slice(0, count).map((step, index) => (
        <StepRow key={index} step={step} a={compared.a.run} b={compared.b.run} />
      ))}
      {rows.length > count && (
        <button type="button" className="button" onClick={() => setCount(count + ROWS_SHOWN)}>
          {rows.length - count} more
        </button>
      )}
    </section>
  );
}
