/** The grounding box: where the research stands, what waits for the researcher, and what was done. */
import { useState, type ReactNode } from 'react';
import { explain } from '../../app/server';
import { groundingAt, PREFIX, type GroundingView, type Remedy, type Receipt } from './grounding';
import { Copy } from '../../ui/Copy';
import { Empty, PanelHeader, EventLink } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { number, plural, duration } from '../../ui/format';
import type { PanelProps } from '../feature';
import { boxOf, filterWords, text, words, type Box, fields } from './box';
import { EditableList, EditableText } from './Editable';
import { answerOf, type Decision, boxDelta, updateBox, whyReadOnly, PlanCard } from './PlanAnswers';
import { strategyMarkdown } from './searchStrategy';
import type { Json } from '@adk-prism/client/film';
import '../../style/panels.css';
import './grounding.css';

/** The searches that were made, newest first. */
const SHOWN = 30;

export function Receipts({ receipts, seek }: { receipts: Receipt[]; seek(cursor: number): void }) {
  const [shown, setShown] = useState(SHOWN);
  const newest = receipts.toReversed();
  return (
    <section className="section" aria-label="Receipts">
      <h3>
        Receipts <span className="count">{receipts.length}</span>
      </h3>
      {receipts.length === 0 && <p className="muted">No search has been made yet.</p>}
      <ol className="receipts">
        {newest.slice(0, shown).map((receipt) => (
          <ReceiptRow key={`${receipt.number} ${receipt.since}`} receipt={receipt} seek={seek} />
        ))}
      </ol>
      {newest.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + 100)}>
          {plural(newest.length - shown, 'older receipt')}
        </button>
      )}
    </section>
  );
}

function ReceiptRow({ receipt, seek }: { receipt: Receipt; seek(cursor: number): void }) {
  const warnings = Array.isArray(receipt.warnings) ? receipt.warnings.map(text) : [];
  const filters = Array.isArray(receipt.filters_applied) ? receipt.filters_applied.map(text) : [];
  const took =
    typeof receipt.duration_ms === 'number' && receipt.duration_ms > 0 ? duration(receipt.duration_ms / 1000) : '';
  return (
    <li>
      <div className="line">
        <time className="muted" title={text(receipt.timestamp)}>
          {receipt.time || text(receipt.timestamp)}
        </time>
        <b>{text(receipt.database)}</b>
        {receipt.mode ? <span className="muted">{text(receipt.mode)}</span> : null}
        <b className="found">{plural(Number(receipt.results_count), 'result')}</b>
        {receipt.new && <Delta />}
      </div>
      <code>{text(receipt.query)}</code>
      <div className="muted">
        {[
          typeof receipt.new_count === 'number' ? `${number(receipt.new_count)} new` : '',
          typeof receipt.total === 'number' ? `${number(receipt.total)} in the database` : '',
          receipt.preview ? 'short run' : '',
          filters.join(', '),
          took,
          text(receipt.approval),
        ]
          .filter(Boolean)
          .join(' · ')}{' '}
        <EventLink cursor={receipt.since} seek={seek} />
      </div>
      <Breakdown title="by kind" counts={receipt.by_kind} />
      <Breakdown title="by year" counts={receipt.by_year} />
      {warnings.map((warning) => (
        <div key={warning} className="warning" data-kind="approval">
          {warning}
        </div>
      ))}
      {receipt.next ? <div className="muted">{`Next: ${text(receipt.next)}`}</div> : null}
    </li>
  );
}

function Breakdown({ title, counts }: { title: string; counts: Json | undefined }) {
  const entries = Object.entries(fields(counts) ?? {});
  if (!entries.length) return null;
  return (
    <div className="muted">
      {title}: {entries.map(([name, count]) => `${name} ${text(count)}`).join(', ')}
    </div>
  );
}

/** What changed this turn. */
export function Delta() {
  return (
    <abbr className="delta" data-kind="state" title="Changed in this turn">
      Δ
    </abbr>
  );
}

const STAGES = ['scoping', 'retrieval', 'synthesis', 'validation'];

export default function GroundingPanel({ film, at, seek, live, say, follow }: PanelProps) {
  const view = groundingAt(film, at);
  const box = boxOf(view);
  const [error, setError] = useState('');
  const [sending, setSending] = useState(false);
  const off = sending ? 'Saving…' : whyReadOnly(film, at, live);
  const changed = new Set(view.changed.map((change) => change.key.slice(PREFIX.length)));

  const attempt = async (work: () => Promise<void>) => {
    setSending(true);
    setError('');
    try {
      await work();
    } catch (problem) {
      setError(explain(problem));
    } finally {
      setSending(false);
    }
  };
  const write = (values: Record<string, unknown>) =>
    attempt(async () => {
      const run = await updateBox(film, values);
      if (run) follow?.(run);
    });
  /** Answer: as a message where there is a chat, so that the agent acts at once; else in the state. */
  const answer = (values: Record<string, unknown>, said: string) =>
    say ? attempt(async () => void (await say(said, boxDelta(values)))) : write(values);
  const decide = (decision: Decision, more: string) => {
    const { values, said } = answerOf(decision, more);
    return answer(values, said);
  };

  if (!view.present) {
    return (
      <section className="panel grounding-panel" aria-label="Grounding">
        <PanelHeader title="Grounding" />
        <Empty title="This app has no research plan">
          A question, a search plan and receipts appear here when an agent writes state keys that start with{' '}
          <code>{PREFIX}</code>, as the research app does.
        </Empty>
      </section>
    );
  }
  const part = (name: string, title: string, children: ReactNode) => (
    <Part title={title} changed={changed.has(name)}>
      {children}
    </Part>
  );
  return (
    <section className="panel grounding-panel" aria-label="Grounding">
      <PanelHeader title="Grounding" count={changed.size ? `${changed.size} changed this turn` : undefined}>
        <Copy label="Copy the search strategy as Markdown" text={() => strategyMarkdown(view)}>
          Strategy
        </Copy>
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label="Research plan">
        {error && (
          <p className="notice" data-kind="error" role="alert">
            <Icon name="error" /> {error}
          </p>
        )}
        <Standing view={view} box={box} changed={changed} />
        {box.plan && <PlanCard plan={box.plan} off={off} given={box.approval} decide={decide} />}
        {box.failure && (
          <Help
            box={box}
            remedies={view.remedies}
            off={off}
            choose={(remedy) => answer({ selected_remedy: remedy.name }, remedy.label || remedy.name)}
          />
        )}
        {part(
          'research_question',
          'Question',
          <EditableText
            value={box.question}
            label="Research question"
            off={off}
            save={(value) => write({ research_question: value })}
          />,
        )}
        {part(
          'search_assumptions',
          'Assumptions',
          <EditableList
            items={box.assumptions}
            label="Assumptions"
            add="Another assumption"
            off={off}
            save={(items) => write({ search_assumptions: items })}
          />,
        )}
        {part(
          'open_questions',
          'Open questions',
          <EditableList
            items={box.questions}
            label="Open questions"
            add="Another question"
            off={off}
            save={(items) => write({ open_questions: items })}
          />,
        )}
        {part('current_filters', 'Filters', <p>{filterWords(box.filters) || <span className="muted">none</span>}</p>)}
        <Receipts receipts={view.receipts} seek={seek} />
        <Unreadables view={view} />
      </div>
    </section>
  );
}

function Part({ title, changed, children }: { title: string; changed: boolean; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <h3>
        {title} {changed && <Delta />}
      </h3>
      {children}
    </section>
  );
}

function Standing({ view, box, changed }: { view: GroundingView; box: Box; changed: Set<string> }) {
  return (
    <section className="section standing" aria-label="Progress">
      <ol className="stages" aria-label="Stages">
        {STAGES.map((stage, index) => (
          <li
            key={stage}
            aria-current={stage === box.stage ? 'step' : undefined}
            data-past={view.step && index + 1 < view.step.number ? '' : undefined}
          >
            {stage}
          </li>
        ))}
      </ol>
      {box.next && (
        <p>
          <KindChip
            kind={box.next.owner === 'agent' ? 'text' : 'approval'}
            icon={box.next.owner === 'agent' ? 'agent' : 'user'}
          >
            {box.next.owner}
          </KindChip>{' '}
          {box.next.action} {box.next.target} {box.next.due && <span className="muted">{box.next.due}</span>}{' '}
          {changed.has('next_action') && <Delta />}
        </p>
      )}
      <p className="muted">
        {box.papers !== null && (
          <>
            {plural(box.papers, 'distinct paper')} {changed.has('papers_found') && <Delta />}{' '}
          </>
        )}
        {box.databases.length > 0 && <>{`in ${box.databases.join(', ')}`}</>}
      </p>
    </section>
  );
}

type HelpProps = { box: Box; remedies: Remedy[]; off: string | null; choose(remedy: Remedy): void };

function Help({ box, remedies, off, choose }: HelpProps) {
  const failure = box.failure!;
  return (
    <section className="section help" data-kind="error" aria-label="Help">
      <h3>
        <KindChip kind="error">{failure.type.replaceAll('_', ' ')}</KindChip>
      </h3>
      <p>
        {Object.entries(failure.context).map(([name, value]) => (
          <span key={name} className="figure">
            {name.replaceAll('_', ' ')} <b>{typeof value === 'number' ? number(value) : words(value)}</b>
          </span>
        ))}
      </p>
      <div className="answers" role="group" aria-label="Remedies">
        {remedies.map((remedy) => (
          <button
            key={remedy.number}
            type="button"
            className="button"
            disabled={off !== null}
            title={off ?? (text(remedy.query) || undefined)}
            onClick={() => choose(remedy)}
          >
            {remedy.number}. {remedy.label || remedy.name}
          </button>
        ))}
      </div>
      {failure.ask && <p className="muted">{failure.ask}</p>}
    </section>
  );
}

function Unreadables({ view }: { view: GroundingView }) {
  if (!view.unreadable.length) return null;
  return (
    <section className="section" aria-label="Could not be read">
      <h3>
        Could not be read <span className="count">{view.unreadable.length}</span>
      </h3>
      <ul className="unreadable">
        {view.unreadable.map(({ key, value, why }) => (
          <li key={key}>
            <code>{key}</code> <span className="muted">{why}</span>
            <JsonView value={value} open={0} />
          </li>
        ))}
      </ul>
    </section>
  );
}
