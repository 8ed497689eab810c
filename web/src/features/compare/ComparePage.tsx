/** Two runs side by side: what each answered, did and left behind. */
import { useCatalogue } from '../../app/catalogue';
import { linkTo } from '../../app/route';
import { address, explain } from '../../app/server';
import { Copy, Id } from '../../ui/Copy';
import { costWords, duration, number, plural } from '../../ui/format';
import { Time } from '../../ui/elements';
import { useTitle } from '../../ui/hooks';
import { Icon } from '../../ui/Icon';
import { KindChip, OUTCOMES } from '../../ui/Kind';
import { useComparison, type ComparedRun, type Comparison } from './comparison';
import { Differs, Difference } from './Difference';
import { RunChoice } from './RunChoice';
import './compare.css';

export default function ComparePage({ a, b }: { a: string; b: string | null }) {
  return b === null ? <Choosing run={a} /> : <TwoRuns a={a} b={b} />;
}

function Choosing({ run }: { run: string }) {
  useTitle('Compare');
  return <RunChoice run={run} />;
}

function TwoRuns({ a, b }: { a: string; b: string }) {
  const { data, error } = useComparison(a, b);
  useTitle('Compare', data?.a.message.slice(0, 60) ?? '');
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
  const { a, b } = compared;
  return (
    <div className="compare">
      <header className="compare-head">
        <h1>Compare</h1>
        <Differs compared={compared} />
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
      <div className="compare-pair compare-heads">
        <About run={a} word="A" />
        <About run={b} word="B" />
      </div>
      <Difference compared={compared} />
    </div>
  );
}

/** What a run is of: its message and its conversation. */
function About({ run, word }: { run: ComparedRun; word: string }) {
  const { conversations } = useCatalogue();
  const { total } = run.tokens;
  const conversation = conversations?.find(({ app, session }) => app === run.app && session === run.session)?.title;
  const outcome = OUTCOMES[run.outcome ?? 'running'];
  return (
    <div className="compare-run">
      <p>
        <strong>{word}</strong>{' '}
        <a href={linkTo({ kind: 'run', run: run.run })}>{run.message || conversation || 'Message without text'}</a>
      </p>
      <p className="quiet">
        {run.app}
        {conversation && conversation !== run.message && ` · in “${conversation}”`}
        {run.started !== null && (
          <>
            {' '}
            · <Time at={run.started} />
          </>
        )}{' '}
        · <Id id={run.run} longest={14} />
      </p>
      <p className="quiet">
        <KindChip kind={outcome.kind} icon={outcome.icon}>
          {run.code || outcome.word}
        </KindChip>{' '}
        {[
          duration(run.seconds),
          total !== undefined && `${number(total)} tokens`,
          run.failures > 0 && plural(run.failures, 'failure'),
          costWords(run.cost),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
    </div>
  );
}
