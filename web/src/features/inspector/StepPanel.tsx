/** The selected step: what went in, what came out, what the model was sent, what changed, what it rests on. */
import { Suspense, useId, type ComponentType, type KeyboardEvent, type ReactNode } from 'react';
import { Failure, lazyWithRetry } from '../../app/Failure';
import { useRoute } from '../../app/route';
import { Prose } from '../../chat/markdown/Prose';

import type { Film } from '../../film/film';
import { difference, type KeyChange } from '../../film/state';
import { SECOND } from '../../film/timeline';
import { Copy } from '../../ui/Copy';
import { Breakable, Empty, EventLink } from '../../ui/elements';
import { Icon, type IconName } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { Traceback } from '../../ui/Traceback';
import { callTokens, costWords, readable, safeLink, tookWords } from '../../ui/format';
import type { PanelProps } from '../feature';
import { statusPassed, timesOf, type Step } from '../tree/steps';
import { hueOf, STATUS_WORDS, STEP_ICONS, STEP_WORDS } from '../tree/words';
import { StepActions } from './StepActions';
import { callsIn, inputOf, outputOf, sourcesIn } from './stepDetails';
import '../../style/panels.css';
import './inspector.css';

const ModelPanel = lazyWithRetry(() => import('../model_calls/ModelPanel'));
const EventPanel = lazyWithRetry(() => import('../event/EventPanel'));

type TabProps = PanelProps & { step: Step };
type Tab = { name: string; title: string; count(film: Film, step: Step): number | null; View: ComponentType<TabProps> };

const TABS: readonly Tab[] = [
  { name: 'input', title: 'Input', count: () => null, View: Input },
  { name: 'output', title: 'Output', count: () => null, View: Output },
  { name: 'model', title: 'Model', count: (film, step) => callsIn(film, step).length, View: Model },
  { name: 'changes', title: 'State changes', count: (film, step) => changesIn(film, step).length, View: Changes },
  { name: 'sources', title: 'Sources', count: (film, step) => sourcesIn(film, step).length, View: Sources },
  { name: 'raw', title: 'Raw', count: () => null, View: Raw },
];

/** What is looked at first. */
const FIRST: Partial<Record<Step['kind'], string>> = { model: 'model', state: 'changes' };

export default function StepPanel(props: PanelProps) {
  const { film, step: picked, turns, turn } = props;
  const isPassed = turns.length > 0 && turns.at(-1)?.message !== turn;
  const step = picked && isPassed ? { ...picked, status: statusPassed(film, picked) } : picked;
  const [{ options }, move] = useRoute();
  const id = useId();
  if (!step) {
    return (
      <section className="panel step-panel" aria-label="Step">
        <Empty title="No step selected">Select a step in the trace to see its input, output and model call.</Empty>
      </section>
    );
  }
  const shown = TABS.filter(({ count, name }) => count(film, step) !== 0 || name === options.tab);
  const tab = shown.find(({ name }) => name === options.tab) ?? shown.find(({ name }) => name === FIRST[step.kind]);
  const { View, name } = tab ?? shown.find((one) => one.name === 'output')!;
  const open = (next: string) => move({ options: { ...options, tab: next } }, 'replace');
  const press = (event: KeyboardEvent) => {
    const way = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!way) return;
    event.preventDefault();
    const index = shown.findIndex((one) => one.name === name);
    const next = shown[(index + way + shown.length) % shown.length]!;
    open(next.name);
    document.getElementById(`${id}${next.name}`)?.focus();
  };
  return (
    <section className="panel step-panel" aria-label="Step">
      <Head {...props} step={step} />
      <div className="tabs step-tabs" role="tablist" aria-label="Of this step" onKeyDown={press}>
        {shown.map((one) => {
          const count = one.count(film, step);
          return (
            <button
              key={one.name}
              id={`${id}${one.name}`}
              type="button"
              role="tab"
              className="tab"
              aria-selected={one.name === name}
              aria-controls={`${id}panel`}
              tabIndex={one.name === name ? 0 : -1}
              onClick={() => open(one.name)}
            >
              {one.title}
              {count !== null && count > 0 && (
                <span className="count" aria-hidden="true">
                  {count}
                </span>
              )}
            </button>
          );
        })}
      </div>
      <div
        className="body"
        id={`${id}panel`}
        role="tabpanel"
        aria-labelledby={`${id}${name}`}
        tabIndex={0}
        key={`${step.id} ${name}`}
      >
        <Failure what="This step">
          <Suspense fallback={<div className="skeleton pane-skeleton" />}>
            <View {...props} step={step} />
          </Suspense>
        </Failure>
      </div>
    </section>
  );
}

const ICONS_OF_STATUS: Partial<Record<Step['status'], IconName>> = { failed: 'error', answered: 'check' };

function Head(props: TabProps) {
  const { film, step, seek } = props;
  const { worked, waited } = timesOf(film, step);
  const facts = [
    step.end > step.start ? tookWords(worked / SECOND, waited / SECOND) : '',
    callTokens(step.tokens),
    costWords(step.cost),
  ].filter(Boolean);
  return (
    <header className="step-head" data-kind={hueOf(step)}>
      <h2>
        <Icon name={STEP_ICONS[step.kind]} />
        <span>{step.kind === 'agent' ? readable(step.name) : step.name}</span>
        <span className="quiet">{STEP_WORDS[step.kind]}</span>
      </h2>
      <p className="step-facts">
        {step.status !== 'finished' && (
          <KindChip kind={hueOf(step)} icon={ICONS_OF_STATUS[step.status] ?? 'clock'}>
            {STATUS_WORDS[step.status]}
          </KindChip>
        )}
        <span>{facts.join(' · ')}</span>
      </p>
      <div className="step-actions">
        <button
          type="button"
          className="button"
          title="Show the conversation as it was at this step (t)"
          onClick={() => seek(step.until ?? step.since)}
        >
          <Icon name="clock" /> Travel here
        </button>
        <StepActions {...props} />
      </div>
    </header>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null || value === '') return null;
  return (
    <div className="section">
      <h3>
        {name}
        <Copy
          text={() => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))}
          label={`Copy ${name}`}
        />
      </h3>
      {typeof value === 'string' ? <Prose text={value} live={false} /> : <JsonView value={value} open={3} />}
    </div>
  );
}

function Input({ film, step }: TabProps) {
  const values = inputOf(film, step);
  if (!values.length) return <Empty title="No input">Nothing was recorded that this step was given.</Empty>;
  return values.map(({ name, value }) => <Value key={name} name={name} value={value} />);
}

function Output({ film, step }: TabProps) {
  const values = outputOf(film, step);
  return (
    <>
      {step.error && (
        <div className="section" data-kind="error">
          <h3>Error</h3>
          <p className="failure">{step.error}</p>
          <Traceback text={step.error} />
        </div>
      )}
      {values.map(({ name, value }, index) => (
        <Value key={index} name={name} value={value} />
      ))}
      {!values.length && !step.error && <Empty title="No output">{NONE[step.status] ?? 'It returned nothing.'}</Empty>}
    </>
  );
}

const NONE: Partial<Record<Step['status'], string>> = {
  running: 'It is still running.',
  waiting: 'It waits for a person.',
  stopped: 'It was stopped before it returned.',
};

/** The request and the response of the model: of this call, or of the calls that this agent made. */
function Model(props: TabProps) {
  const { film, step } = props;
  const [{ options }, move] = useRoute();
  const calls = callsIn(film, step);
  if (!calls.length)
    return <Empty title="No model call">{`${STEP_WORDS[step.kind]} ${step.name} called no model.`}</Empty>;
  const chosen = calls.find(({ id }) => id === options.call) ?? calls[0]!;
  // A call outside of this step is a step of its own.
  const choose = ({ id }: Step) =>
    move(
      { options: { ...options, ...(calls.some((call) => call.id === id) ? { call: id } : { step: id }) } },
      'replace',
    );
  return <ModelPanel {...props} step={null} at={chosen.since} choose={choose} />;
}

function Raw(props: TabProps) {
  const { step } = props;
  const [{ options }, move] = useRoute();
  const asked = Number(options.entry);
  const isInside = asked >= step.since && asked <= (step.until ?? props.film.last);
  const seek = (entry: number) => move({ options: { ...options, entry: String(entry) } }, 'replace');
  return <EventPanel {...props} at={isInside ? asked : step.since} seek={seek} />;
}

/** Return what changed in the state while a step ran. */
function changesIn(film: Film, step: Step): KeyChange[] {
  return difference(film, step.since - 1, step.kind === 'state' ? step.since : (step.until ?? film.last));
}

function Changes({ film, step }: TabProps) {
  const changes = changesIn(film, step);
  if (!changes.length) return <Empty title="No state changes">The session's state is as it was before.</Empty>;
  return changes.map(({ key, kind, before, after, writer }) => (
    <div className="section" key={key}>
      <h3>
        <code>
          <Breakable name={key} />
        </code>{' '}
        <span className="count">{`${kind} by ${writer}`}</span>
      </h3>
      {kind !== 'added' && <Side change="removed" value={before} />}
      {kind !== 'removed' && <Side change="added" value={after} />}
    </div>
  ));
}

function Side({ change, value }: { change: 'added' | 'removed'; value: unknown }): ReactNode {
  return (
    <div className="change" data-change={change}>
      <JsonView value={value} open={2} />
    </div>
  );
}

function Sources({ film, step, seek }: TabProps) {
  const sources = sourcesIn(film, step);
  if (!sources.length) return <Empty title="No sources">This step names no source.</Empty>;
  return (
    <ol className="section step-sources">
      {sources.map(({ title, uri, excerpt, cursor }, index) => {
        const link = safeLink(uri);
        return (
          <li key={index}>
            {link ? (
              <a href={link} target="_blank" rel="noopener noreferrer nofollow">
                {title || uri}
              </a>
            ) : (
              <span>{title || uri}</span>
            )}{' '}
            {excerpt && <q className="quiet">{excerpt}</q>} <EventLink cursor={cursor} seek={seek} />
          </li>
        );
      })}
    </ol>
  );
}
