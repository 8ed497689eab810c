/** How a proof came about, for whoever wants to know exactly: numbers, scores, citations and steps, each with its event. */
import { useEffect, useRef, type ReactNode } from 'react';
import type { Citation, Factor, Proof, Reading, Step } from '../../film/document';
import { Details } from '../../ui/Details';
import { Icon } from '../../ui/Icon';
import { number, plural, readable } from '../../ui/format';
import { EventLink } from '../EventLink';
import { safeLink } from '../safeLink';
import * as words from '../../words/proof';

export type Seek = { seek(cursor: number): void };

/** Where a confidence comes from. */
export const ORIGINS = {
  computed: words.calculatedByATool,
  parsed: words.readFromTheText,
  absent: words.noConfidenceWasStated,
};

/** Return how a confidence was derived, as a sentence for readers who do not know the recorded terms. */
function derivationText(derivation: string): string {
  if (derivation === 'none stated') return words.noConfidenceStated;
  const text = derivation.replace(/^computed by [^:]*: /, '').replace(/^lowest of (\d+) factors/, words.lowestOfSectionScores);
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
            {words.disagreement}{each.about ? ` ${words.about(each.about)}` : ''}{words.textSays} {percent(each.stated)}{words.whichIs}{' '}
            {each.relation}
            {each.low !== undefined && each.high !== undefined
              ? ` ${words.isExpected(each.low === each.high ? percent(each.low) : words.range(percent(each.low), percent(each.high)))}`
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
      <Fold title={words.statedAndCalculatedNumbers} items={proof.readings} show={(each) => <ReadingLine reading={each} seek={seek} />} />
      <Fold title={words.scoresBehindIt} items={proof.factors ?? []} show={(each) => <FactorLine factor={each} seek={seek} />} />
      <Fold title={words.reasoning} items={proof.reasoning_chain} ordered show={(each) => <StepLine step={each} seek={seek} />} />
      <Fold
        title={words.notUnderstood}
        items={proof.unread ?? []}
        show={(each) => (
          <>
            “{each.text}” <span className="muted">{each.reason}</span> <EventLink cursor={each.cursor} seek={seek} />
          </>
        )}
      />
      {proof.omitted ? <p className="muted">{words.reasoningStepsSources(plural(proof.omitted, words.moreItem))}</p> : null}
    </>
  );
}

type CitationsProps = { proof: Proof; /** Numbered as the answer counts them. */ isNumbered?: boolean; cited?: number | null; open?: boolean } & Seek;

export function Citations({ proof, isNumbered = false, cited = null, open, seek }: CitationsProps) {
  return (
    <Fold title={words.sources} items={proof.citations} open={open} show={(each, index) => <CitationLine citation={each} seek={seek} number={isNumbered ? index + 1 : null} picked={cited === index + 1} />} />
  );
}

export function Unsourced({ proof, open }: { proof: Proof; open?: boolean }) {
  return (
    <Fold
      title={words.statementsWithoutASource}
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
          {items.length > SHOWN && <li className="muted">{words.andWord} {items.length - SHOWN} {words.more}</li>}
        </List>
      )}
    </Details>
  );
}

function ReadingLine({ reading, seek }: { reading: Reading } & Seek) {
  const { value, level, low, high, bound, about, section, reason, text, cursor } = reading;
  const figure =
    value !== null ? percent(value) : low !== undefined && high !== undefined ? words.range(percent(low), percent(high)) : level || '–';
  return (
    <>
      <b className="figure">
        {bound ? `${bound} ` : ''}
        {figure}
      </b>{' '}
      {about || section || (reading.overall ? words.overall : '')} {reason && <span className="muted">{derivationText(reason)}</span>}{' '}
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
      {factor.effect !== undefined && factor.effect !== factor.value && <span>{words.effect(scoreText(factor.effect))}</span>} {factor.why}{' '}
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
  const who = (users ?? (by ? [by] : [])).map(readable).join(', ');
  const link = safeLink(uri);
  return (
    <div ref={line} className="citation" tabIndex={-1} data-picked={picked || undefined} title={hash && words.contentHash(hash)}>
      {place !== null && <span className="source-number">{place}</span>} {label && <span className="muted">{label} </span>}
      {link ? (
        <a href={link} target="_blank" rel="noreferrer noopener">
          {source || uri}
        </a>
      ) : (
        <b>{source || uri}</b>
      )}{' '}
      {reference} {who && <span className="muted">{words.byWhom(who)}</span>} <EventLink cursor={cursor} seek={seek} />
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
