/**
 * How a proof came about, for whoever wants to know exactly: numbers, scores, citations and steps, each with its
 * event.
 */
import { useEffect, useRef, type ReactNode } from 'react';
import type { Citation, Factor, Proof, Reading, Step } from '@adk-prism/client/film';
import { Details, EventLink } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { number, plural, readable, safeLink } from '../../ui/format';

export type Seek = { seek(cursor: number): void };

/** Where a confidence comes from. */
export const ORIGINS = {
  computed: 'Calculated by a tool or by the model provider.',
  parsed: 'Read from the text of the answer.',
  absent: 'No confidence was stated.',
};

/** Return how a confidence was derived, as a sentence for readers who do not know the recorded terms. */
function derivationText(derivation: string): string {
  if (derivation === 'none stated') return 'No confidence stated';
  const text = derivation
    .replace(/^computed by [^:]*: /, '')
    .replace(/^lowest of (\d+) factors/, 'lowest of $1 section scores');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function percent(value: number): string {
  return `${number(Math.round(value * 1000) / 10)} %`;
}

export function Disagreements({ proof }: { proof: Proof }) {
  if (!proof.disagreements?.length) return null;
  return (
    <ul className="disagreements">
      {proof.disagreements.map((each) => (
        <li key={each.text} className="notice" data-kind="error">
          <Icon name="error" />
          <span>
            {'Disagreement'}
            {each.about ? ` ${`about ${each.about}`}` : ''}
            {': the text says'} {percent(each.stated)}
            {', which is'} {each.relation}
            {each.low !== undefined && each.high !== undefined
              ? ` ${`(${each.low === each.high ? percent(each.low) : `${percent(each.low)} to ${percent(each.high)}`} is expected)`}`
              : ' '}
            . “{each.text}”
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The parts of a proof that only explain it, each folded with its count. */
export function Pieces({ proof, seek }: { proof: Proof } & Seek) {
  return (
    <>
      <p className="derivation">
        {derivationText(proof.derivation)}. {ORIGINS[proof.origin]}
      </p>
      <Fold
        title="Stated and calculated numbers"
        items={proof.readings}
        show={(each) => <ReadingLine reading={each} seek={seek} />}
      />
      <Fold
        title="Scores behind it"
        items={proof.factors ?? []}
        show={(each) => <FactorLine factor={each} seek={seek} />}
      />
      <Fold
        title="Reasoning"
        items={proof.reasoning_chain}
        ordered
        show={(each) => <StepLine step={each} seek={seek} />}
      />
      <Fold
        title="Not understood"
        items={proof.unread ?? []}
        show={(each) => (
          <>
            “{each.text}” <span className="muted">{each.reason}</span> <EventLink cursor={each.cursor} seek={seek} />
          </>
        )}
      />
      {proof.omitted ? (
        <p className="muted">{`${plural(proof.omitted, 'more item')} (reasoning steps, sources) in the recording.`}</p>
      ) : null}
    </>
  );
}

type CitationsProps = {
  proof: Proof /** Numbered as the answer counts them. */;
  isNumbered?: boolean;
  cited?: number | null;
  open?: boolean;
} & Seek;

export function Citations({ proof, isNumbered = false, cited = null, open, seek }: CitationsProps) {
  return (
    <Fold
      title="Sources"
      items={proof.citations}
      open={open}
      show={(each, index) => (
        <CitationLine citation={each} seek={seek} number={isNumbered ? index + 1 : null} picked={cited === index + 1} />
      )}
    />
  );
}

export function Unsourced({ proof, open }: { proof: Proof; open?: boolean }) {
  return (
    <Fold
      title="Statements without a source"
      items={proof.uncited ?? []}
      warn
      open={open}
      show={(each) => (
        <>
          {each.text} {each.section && <span className="muted">{each.section}</span>}
        </>
      )}
    />
  );
}

export const SHOWN = 100; // Pieces of one fold; the proof itself is bounded, this keeps the page quick.

type FoldProps<Each> = {
  title: string;
  items: readonly Each[];
  show(item: Each, index: number): ReactNode;
  open?: boolean;
  ordered?: boolean;
  warn?: boolean;
};

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
    value !== null
      ? percent(value)
      : low !== undefined && high !== undefined
        ? `${percent(low)} to ${percent(high)}`
        : level || '–';
  return (
    <>
      <b className="figure">
        {bound ? `${bound} ` : ''}
        {figure}
      </b>{' '}
      {about || section || (reading.overall ? 'overall' : '')}{' '}
      {reason && <span className="muted">{derivationText(reason)}</span>} <EventLink cursor={cursor} seek={seek} />
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
      {factor.effect !== undefined && factor.effect !== factor.value && (
        <span>{`effect ${scoreText(factor.effect)}`}</span>
      )}{' '}
      {factor.why} {factor.by && <span className="muted">{factor.by}</span>}{' '}
      <EventLink cursor={factor.cursor} seek={seek} />
    </>
  );
}

type CitationProps = {
  citation: Citation /** As the answer counts it; null where it does not. */;
  number: number | null;
  picked: boolean;
} & Seek;

function CitationLine({ citation, seek, number: place, picked }: CitationProps) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!picked) return;
    line.current?.scrollIntoView({ block: 'center' });
    line.current?.focus();
  }, [picked]);
  const { source, reference, uri, excerpt, label, by, used_by: users, hash, cursor } = citation;
  const who = (users ?? (by ? [by] : [])).map(readable).join(', ');
  const link = safeLink(uri);
  return (
    <div
      ref={line}
      className="citation"
      tabIndex={-1}
      data-picked={picked || undefined}
      title={hash && `Content hash: ${hash}`}
    >
      {place !== null && <span className="source-number">{place}</span>}{' '}
      {label && <span className="muted">{label} </span>}
      {link ? (
        <a href={link} target="_blank" rel="noreferrer noopener">
          {source || uri}
        </a>
      ) : (
        <b>{source || uri}</b>
      )}{' '}
      {reference} {who && <span className="muted">{`by ${who}`}</span>} <EventLink cursor={cursor} seek={seek} />
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
