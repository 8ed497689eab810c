/**
 * What stands behind the answer: how sure it is and why, the weakest section first, what it rests on, and what nothing
 * backs.
 */
import { useMemo, useState } from 'react';
import {
  proofAt,
  type ProofView,
  type ShownProof,
  partsOf,
  raisesOf,
  sectionsOf,
  wholeSentences,
  type Raise,
  type Section,
} from './sections';
import { Details, Empty, PanelHeader, EventLink } from '../../ui/elements';
import { number, plural, share, safeLink } from '../../ui/format';
import type { PanelProps } from '../feature';
import '../../style/panels.css';
import './proof.css';
import { Citations, Disagreements, Pieces, SHOWN, Unsourced, type Seek } from './ProofDetails';

export default function ProofPanel({ film, at, selected, select, seek }: PanelProps) {
  const view = useMemo(() => proofAt(film, at), [film, at]);
  const sections = useMemo(() => sectionsOf(view), [view]);
  const { answer, specialists } = view;
  const sources = answer?.citations.length ?? specialists.reduce((sum, proof) => sum + proof.citations.length, 0);
  return (
    <section className="panel proof-panel" aria-label="Proof">
      <PanelHeader title="Proof" count={plural(sources, 'source')} />
      <div className="body" tabIndex={0} role="region" aria-label="Confidence and sources">
        {answer ? (
          <Whole answer={answer} sections={sections} />
        ) : (
          <Empty title="The run has not finished at this point">
            The confidence of the whole answer appears when the run ends. Sections appear as they are answered.
          </Empty>
        )}
        <Sections sections={sections} selected={selected} select={select} seek={seek} />
        {answer && (answer.citations.length > 0 || !!answer.uncited?.length || !!answer.disagreements?.length) && (
          <section className="section" aria-label="Sources">
            <Disagreements proof={answer} />
            <Unsourced proof={answer} open />
            <Citations proof={answer} isNumbered cited={citedOf(selected)} open seek={seek} />
          </section>
        )}
        <Sources view={view} seek={seek} />
        <section className="section" aria-label="How it was worked out">
          <Details className="fold" summary="How it was worked out">
            {() => (
              <>
                {answer && <Pieces proof={answer} seek={seek} />}
                <Completion view={view} seek={seek} />
              </>
            )}
          </Details>
        </section>
      </div>
    </section>
  );
}

/** Return which citation is picked out, counted from 1; null if none is. */
function citedOf(selected: string | null): number | null {
  return Number(/^citation:(\d{1,4})$/.exec(selected ?? '')?.[1]) || null;
}

function Whole({ answer, sections }: { answer: ShownProof; sections: readonly Section[] }) {
  const weakest = sections[0];
  const own = weakest?.proof ? raisesOf(weakest.proof) : [];
  const isStated = answer.confidence !== null || !!answer.level || sections.length > 0;
  const raises = own.length || !isStated ? own : raisesOf(answer);
  return (
    <section className="section" aria-label="The whole answer">
      <Confidence confidence={answer.confidence} level={answer.level} large />
      <p className="sentences">{wholeSentences(answer, sections).join(' ')}</p>
      {raises.length > 0 && (
        <>
          <h3 className="raise">
            {weakest && own.length && sections.length > 1
              ? `How to raise confidence in ${weakest.title}`
              : 'How to raise confidence'}
          </h3>
          <Raises raises={raises} />
        </>
      )}
    </section>
  );
}

function Raises({ raises }: { raises: readonly Raise[] }) {
  if (raises.length === 0) return <p className="derivation">Nothing that was recorded says so.</p>;
  return (
    <ul className="raises">
      {raises.map(({ what, why }, index) => (
        <li key={index}>
          <b>{what}</b>
          {why && `: ${why}`}
        </li>
      ))}
    </ul>
  );
}

type SectionsProps = { sections: readonly Section[]; selected: string | null; select(id: string | null): void } & Seek;

function Sections({ sections, selected, select, seek }: SectionsProps) {
  const [shown, setShown] = useState(SHOWN);
  if (sections.length === 0) return null;
  return (
    <section className="section">
      <h3>
        Sections, weakest first <span className="count">{sections.length}</span>
      </h3>
      {sections.slice(0, shown).map((section, index) =>
        section.proof ? (
          <Specialist
            key={`${section.proof.subject?.name} ${index}`}
            section={section}
            proof={section.proof}
            isOnly={sections.length === 1}
            picked={selected === section.proof.subject?.name}
            select={select}
            seek={seek}
          />
        ) : (
          <div key={section.title} className="specialist plain-section">
            <Sentence section={section} />
          </div>
        ),
      )}
      {sections.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + SHOWN)}>
          {plural(sections.length - shown, 'more section')}
        </button>
      )}
    </section>
  );
}

function Sentence({ section }: { section: Section }) {
  return (
    <span className="sentence">
      <span>
        <b>{section.title}</b>
        {section.sentence.replaceAll(' %', '\u00a0%')}
      </span>
      <Confidence confidence={section.confidence} level="" />
    </span>
  );
}

type SpecialistProps = {
  section: Section;
  proof: ShownProof;
  isOnly: boolean;
  picked: boolean;
  select(id: string | null): void;
} & Seek;

function Specialist({ section, proof, isOnly, picked, select, seek }: SpecialistProps) {
  const name = proof.subject?.name ?? '';
  const raises = raisesOf(proof);
  const parts = partsOf(proof);
  return (
    <Details
      className="specialist"
      open={isOnly && parts.length > 1}
      data-picked={picked || undefined}
      summary={<Sentence section={section} />}
    >
      {() => (
        <>
          {parts.length > 1 && (
            <ul className="parts">
              {parts.map((part) => (
                <li key={part.title}>
                  <Sentence section={part} />
                </li>
              ))}
            </ul>
          )}
          <h4 className="raise">How to raise confidence</h4>
          <Raises raises={raises} />
          <Disagreements proof={proof} />
          <Unsourced proof={proof} />
          <Citations proof={proof} seek={seek} />
          <Details className="fold" summary="How it was worked out">
            {() => (
              <>
                <p className="derivation">
                  <code>{name || 'unnamed'}</code>{' '}
                  {proof.since !== undefined && <EventLink cursor={proof.since} seek={seek} />}{' '}
                  <button
                    type="button"
                    className="link"
                    aria-pressed={picked}
                    onClick={() => select(picked ? null : name)}
                  >
                    {picked ? 'selected in all panels' : 'select in all panels'}
                  </button>
                </p>
                <Pieces proof={proof} seek={seek} />
              </>
            )}
          </Details>
        </>
      )}
    </Details>
  );
}

type ConfidenceProps = { confidence: number | null; level: string | undefined; large?: boolean };

function Confidence({ confidence, level, large }: ConfidenceProps) {
  if (confidence === null && !level) return null;
  return (
    <span
      className="confidence"
      data-large={large || undefined}
      data-kind="proof"
      aria-hidden={large ? undefined : true}
    >
      {large && <span className="figure">{confidence === null ? level : share(confidence)}</span>}
      {confidence !== null && (
        <span className="bar" aria-hidden="true">
          <span style={{ transform: `scaleX(${Math.min(1, Math.max(0, confidence))})` }} />
        </span>
      )}
      {large && confidence !== null && level && <span className="muted">{level}</span>}
    </span>
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
    <div className="muted">
      {view.completion !== null && (
        <p>
          Answer completed at <EventLink cursor={view.completion} seek={seek} />.
        </p>
      )}
      <p>
        {events.length
          ? `Agent events: ${events.map(([name, count]) => `${number(count)} ${name}`).join(', ')}.`
          : 'No agent events yet.'}
      </p>
    </div>
  );
}
