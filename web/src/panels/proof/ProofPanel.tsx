/** What stands behind the answer: how sure it is and why, what it cites, and what nobody backs. */
import { useEffect, useMemo, useRef, type ReactNode } from 'react';
import type { Citation, Factor, Proof, Reading, Step } from '../../film/document';
import { proofAt, type ProofView, type ShownProof } from '../../film/proof';
import { Details } from '../../ui/Details';
import { Empty } from '../../ui/Empty';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';
import { PanelHeader } from '../../ui/PanelHeader';
import { number, plural } from '../../ui/format';
import { EventLink } from '../EventLink';
import type { PanelProps } from '../panel';
import '../panels.css';
import { safeLink } from '../safeLink';
import './proof.css';

const ORIGINS = {
  computed: 'Calculated by a tool or by the model provider.',
  parsed: 'Read from the text of the answer.',
  absent: 'No confidence was stated.',
};

type Seek = { seek(cursor: number): void };

export default function ProofPanel({ film, at, selected, select, seek }: PanelProps) {
  const view = useMemo(() => proofAt(film, at), [film, at]);
  const { answer, specialists } = view;
  const citations = answer?.citations.length ?? specialists.reduce((sum, proof) => sum + proof.citations.length, 0);
  return (
    <section className="panel proof-panel" aria-label="Proof">
      <PanelHeader title="Proof" count={plural(citations, 'citation')} />
      <div className="body" tabIndex={0} role="region" aria-label="Confidence and sources">
        {answer ? (
          <Whole proof={answer} seek={seek} cited={citedOf(selected)} />
        ) : (
          <Empty title="The run has not finished at this point">
            The confidence of the whole answer appears when the run ends. Specialists appear as they answer.
          </Empty>
        )}
        {specialists.length > 0 && (
          <section className="section">
            <h3>
              Specialists <span className="count">{specialists.length}</span>
            </h3>
            {specialists.slice(0, SHOWN).map((proof, index) => (
              <Specialist key={`${proof.subject?.name} ${index}`} proof={proof} picked={selected === proof.subject?.name} select={select} seek={seek} />
            ))}
            {specialists.length > SHOWN && <p className="muted">and {plural(specialists.length - SHOWN, 'more specialist')}</p>}
          </section>
        )}
        <Sources view={view} seek={seek} />
        <Completion view={view} seek={seek} />
      </div>
    </section>
  );
}

/** Return which citation is picked out, counted from 1; null if none is. */
function citedOf(selected: string | null): number | null {
  return Number(/^citation:(\d{1,4})$/.exec(selected ?? '')?.[1]) || null;
}

function Whole({ proof, seek, cited }: { proof: ShownProof; cited: number | null } & Seek) {
  return (
    <section className="section" aria-label="The whole answer">
      <Confidence proof={proof} large />
      <p className="derivation">
        {derivationText(proof.derivation)}
        {proof.since !== undefined && (
          <>
            {' '}
            <EventLink cursor={proof.since} seek={seek} />
          </>
        )}
      </p>
      <Disagreements proof={proof} />
      <Pieces proof={proof} seek={seek} cited={cited} open />
    </section>
  );
}

type SpecialistProps = { proof: ShownProof; picked: boolean; select(id: string | null): void } & Seek;

function Specialist({ proof, picked, select, seek }: SpecialistProps) {
  const name = proof.subject?.name ?? 'unnamed';
  return (
    <Details
      className="specialist"
      data-picked={picked || undefined}
      summary={
        <>
          <Icon name={proof.subject?.kind === 'tool' ? 'tool' : 'agent'} />
          <b>{name}</b>
          <Confidence proof={proof} />
        </>
      }
    >
      {() => (
        <>
          <p className="derivation">
            {derivationText(proof.derivation)}{' '}
            {proof.since !== undefined && <EventLink cursor={proof.since} seek={seek} />}{' '}
            <button type="button" className="link" aria-pressed={picked} onClick={() => select(picked ? null : name)}>
              {picked ? 'selected in all panels' : 'select in all panels'}
            </button>
          </p>
          <Disagreements proof={proof} />
          <Pieces proof={proof} seek={seek} />
        </>
      )}
    </Details>
  );
}

function Confidence({ proof, large }: { proof: Proof; large?: boolean }) {
  const { confidence, level, origin } = proof;
  if (confidence === null && !level) return null;
  return (
    <span className="confidence" data-large={large || undefined} data-kind={origin === 'absent' ? 'neutral' : 'proof'}>
      <span className="figure">{confidence === null ? level : percent(confidence)}</span>
      {confidence !== null && (
        <span className="bar" aria-hidden="true">
          <span style={{ transform: `scaleX(${Math.min(1, Math.max(0, confidence))})` }} />
        </span>
      )}
      {confidence !== null && level && <span className="muted">{level}</span>}
      <KindChip kind={origin === 'absent' ? 'neutral' : 'proof'} title={ORIGINS[origin]}>
        {origin}
      </KindChip>
    </span>
  );
}

/** Return how a confidence was derived, as a sentence for readers who do not know the recorded terms. */
function derivationText(derivation: string): string {
  if (derivation === 'none stated') return 'No confidence stated';
  const text = derivation.replace(/^computed by [^:]*: /, '').replace(/^lowest of (\d+) factors/, 'lowest of $1 section scores');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function percent(value: number): string {
  return `${number(Math.round(value * 1000) / 10)} %`;
}

function Disagreements({ proof }: { proof: Proof }) {
  if (!proof.disagreements?.length) return null;
  return (
    <ul className="disagreements">
      {proof.disagreements.map((each) => (
        <li key={each.text} className="notice" data-kind="error">
          <Icon name="error" />
          <span>
            Disagreement{each.about ? ` about ${each.about}` : ''}: the text says {percent(each.stated)}, which is{' '}
            {each.relation}
            {each.low !== undefined && each.high !== undefined
              ? ` (${each.low === each.high ? percent(each.low) : `${percent(each.low)} to ${percent(each.high)}`} is expected)`
              : ' '}
            . “{each.text}”
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The parts of a proof, each folded with its count. */
function Pieces({ proof, seek, open = false, cited = null }: { proof: Proof; open?: boolean; cited?: number | null } & Seek) {
  return (
    <>
      <Fold title="Confidence by section" items={proof.readings} open={open} show={(each) => <ReadingLine reading={each} seek={seek} />} />
      <Fold title="Scores behind it" items={proof.factors ?? []} open={open} show={(each) => <FactorLine factor={each} seek={seek} />} />
      <Fold title="Citations" items={proof.citations} open={open} show={(each, index) => <CitationLine citation={each} seek={seek} number={open ? index + 1 : null} picked={cited === index + 1} />} />
      <Fold title="Reasoning" items={proof.reasoning_chain} ordered show={(each) => <StepLine step={each} seek={seek} />} />
      <Fold title="Claims without a citation" items={proof.uncited ?? []} warn open={open} show={(each) => <>{each.text} {each.section && <span className="muted">{each.section}</span>}</>} />
      <Fold
        title="Not understood"
        items={proof.unread ?? []}
        show={(each) => (
          <>
            “{each.text}” <span className="muted">{each.reason}</span> <EventLink cursor={each.cursor} seek={seek} />
          </>
        )}
      />
      {proof.omitted ? <p className="muted">{plural(proof.omitted, 'more item')} (reasoning steps, citations) in the recording.</p> : null}
    </>
  );
}

const SHOWN = 100; // Pieces of one fold; the proof itself is bounded, this keeps the page quick.

type FoldProps<Each> = { title: string; items: readonly Each[]; show(item: Each, index: number): ReactNode; open?: boolean; ordered?: boolean; warn?: boolean };

function Fold<Each>({ title, items, show, open, ordered, warn }: FoldProps<Each>) {
  if (!items.length) return null;
  const List = ordered ? 'ol' : 'ul';
  return (
    <Details
      className="fold"
      open={open}
      data-kind={warn ? 'approval' : undefined}
      summary={
        <>
          {warn && <Icon name="error" />}
          {title} <span className="count">{items.length}</span>
        </>
      }
    >
      {() => (
        <List data-ordered={ordered || undefined}>
          {items.slice(0, SHOWN).map((item, index) => (
            <li key={index}>{show(item, index)}</li>
          ))}
          {items.length > SHOWN && <li className="muted">and {items.length - SHOWN} more</li>}
        </List>
      )}
    </Details>
  );
}

function ReadingLine({ reading, seek }: { reading: Reading } & Seek) {
  const { value, level, low, high, bound, about, section, reason, text, cursor } = reading;
  const figure =
    value !== null ? percent(value) : low !== undefined && high !== undefined ? `${percent(low)} to ${percent(high)}` : level || '–';
  return (
    <>
      <b className="figure">
        {bound ? `${bound} ` : ''}
        {figure}
      </b>{' '}
      {about || section || (reading.overall ? 'overall' : '')} {reason && <span className="muted">{derivationText(reason)}</span>}{' '}
      <EventLink cursor={cursor} seek={seek} />
      {text && <div className="words">{text}</div>}
    </>
  );
}

/** Return a score between 0 and 1 as a percentage, and anything else as JSON. */
function scoreText(value: unknown): string {
  return typeof value === 'number' && value >= 0 && value <= 1 ? percent(value) : JSON.stringify(value);
}

function FactorLine({ factor, seek }: { factor: Factor } & Seek) {
  return (
    <>
      <b>{factor.name}</b> {factor.value !== undefined && scoreText(factor.value)}{' '}
      {factor.effect !== undefined && factor.effect !== factor.value && <span>effect {scoreText(factor.effect)}</span>} {factor.why}{' '}
      {factor.by && <span className="muted">{factor.by}</span>} <EventLink cursor={factor.cursor} seek={seek} />
    </>
  );
}

type CitationProps = { citation: Citation; /** As the answer counts it; null where it does not. */ number: number | null; picked: boolean } & Seek;

function CitationLine({ citation, seek, number: place, picked }: CitationProps) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!picked) return;
    line.current?.scrollIntoView({ block: 'center' });
    line.current?.focus();
  }, [picked]);
  const { source, reference, uri, excerpt, label, by, used_by: users, hash, cursor } = citation;
  const who = users?.join(', ') ?? by;
  const link = safeLink(uri);
  return (
    <div ref={line} className="citation" tabIndex={-1} data-picked={picked || undefined}>
      {place !== null && <span className="source-number">{place}</span>} {label && <span className="muted">{label} </span>}
      {link ? (
        <a href={link} target="_blank" rel="noreferrer noopener">
          {source || uri}
        </a>
      ) : (
        <b>{source || uri}</b>
      )}{' '}
      {reference} {who && <span className="muted">by {who}</span>} <EventLink cursor={cursor} seek={seek} />
      {hash && <code className="muted"> {hash.slice(0, 20)}</code>}
      {excerpt && <div className="words">{excerpt}</div>}
    </div>
  );
}

const STEPS: Record<Step['kind'], string> = { stated: '', call: 'call', answer: 'answer' };

function StepLine({ step, seek }: { step: Step } & Seek) {
  return (
    <>
      {STEPS[step.kind] && <span className="muted">{STEPS[step.kind]} </span>}
      <EventLink cursor={step.cursor} seek={seek}>
        {step.text}
      </EventLink>
    </>
  );
}

function Sources({ view, seek }: { view: ProofView } & Seek) {
  if (!view.sources.length) return null;
  return (
    <section className="section">
      <h3>
        Sources from the model provider <span className="count">{view.sources.length}</span>
      </h3>
      <ul className="lines">
        {view.sources.slice(0, SHOWN).map((source) => {
          const link = safeLink(source.uri);
          return (
            <li key={source.source}>
              {link ? (
                <a href={link} target="_blank" rel="noreferrer noopener">
                  {source.title || source.uri}
                </a>
              ) : (
                <b>{source.title || source.uri || source.source}</b>
              )}{' '}
              <EventLink cursor={source.cursor} seek={seek} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Completion({ view, seek }: { view: ProofView } & Seek) {
  const events = Object.entries(view.events).filter(([, count]) => count > 0);
  return (
    <section className="section muted">
      {view.completion !== null && (
        <p>
          Answer completed at <EventLink cursor={view.completion} seek={seek} />.
        </p>
      )}
      <p>{events.length ? `Agent events: ${events.map(([name, count]) => `${number(count)} ${name}`).join(', ')}.` : 'No agent events yet.'}</p>
    </section>
  );
}
