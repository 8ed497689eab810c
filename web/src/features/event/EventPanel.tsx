/** The entry at the playhead: what was recorded, what it means, and how every protocol says it. */
import { useState } from 'react';
import { useServerData } from '../../app/query';
import { eventNumber, eventsOf } from '../../film/events';
import { placeOf } from '../../film/joined';
import { clockTime, SECOND, timeAt } from '../../film/timeline';
import { Copy } from '../../ui/Copy';
import { Empty, PanelHeader } from '../../ui/elements';
import { JsonView } from '../../ui/Json';
import { KindChip, type Kind } from '../../ui/Kind';
import { Traceback } from '../../ui/Traceback';
import { duration, number, plural } from '../../ui/format';
import type { PanelProps } from '../feature';
import { path, explain, getJson } from '../../app/server';
import type { Json } from '@adk-prism/client/film';
import { shared } from '../../film/sharedFile';
import '../../style/panels.css';
import './event.css';

/** The hue of each fact; what is not named is neutral. */
const KINDS: Record<Exclude<Kind, 'neutral'>, readonly string[]> = {
  text: ['BlockBegan', 'BlockGrew', 'BlockEnded', 'InputTranscribed', 'UserSpoke'],
  reasoning: [],
  tool: [
    'CallInputGrew',
    'CallRequested',
    'CallDelegated',
    'CallAnswered',
    'CallPending',
    'CallAbandoned',
    'CodeShown',
    'CodeResultShown',
  ],
  approval: ['ApprovalRequested', 'ApprovalDecided', 'InputRequested', 'CallDenied', 'Interrupted'],
  state: ['StateChanged', 'ArtifactSaved'],
  proof: ['SourceCited', 'SourcesLinked', 'CitationsGiven', 'ProofGiven'],
  media: ['FileShown', 'AudioHeard'],
  error: ['ErrorRaised', 'CallFailed', 'Unrecognised'],
};

const BY_FACT = new Map(
  Object.entries(KINDS).flatMap(([kind, facts]) => facts.map((fact): [string, Kind] => [fact, kind as Kind])),
);

export function kindOfFact(fact: string): Kind {
  return BY_FACT.get(fact) ?? 'neutral';
}

/** One entry seen closely, as the server writes it (`features/page/film_cache.py`). */
export type Frame = { position: string; event?: string; data: Json };
export type ShownFact = { fact: string; is: { [field: string]: Json } };
export type EntryDetail = {
  cursor: number;
  time: number;
  type: string;
  record: Json;
  facts: ShownFact[];
  frames: Record<string, Frame[]>;
};

export type EntryDetailState =
  | { kind: 'loading' }
  | { kind: 'there'; closeup: EntryDetail }
  | { kind: 'missing'; why: string };

const LOADING: EntryDetailState = { kind: 'loading' };
const SETTLED_MS = 60; // While the playhead moves, nothing is fetched.

/** Return the entry at a cursor, once the playhead rests there. */
export function useEntryDetail({ run, cursor: at }: { run: string; cursor: number }): EntryDetailState {
  const embedded = shared();
  const load = async (signal: AbortSignal) => {
    await new Promise((rested) => setTimeout(rested, SETTLED_MS));
    signal.throwIfAborted();
    return getJson<EntryDetail>(path('api', 'runs', run, 'entries', String(at)), signal);
  };
  const { data, error } = useServerData(['entry', run, at], load, { enabled: !embedded, staleTime: Infinity });
  if (embedded) return embeddedAt(embedded.entries[at]);
  if (data) return { kind: 'there', closeup: data };
  return error ? { kind: 'missing', why: explain(error) } : LOADING;
}

function embeddedAt(closeup: EntryDetail | undefined): EntryDetailState {
  if (closeup) return { kind: 'there', closeup };
  return {
    kind: 'missing',
    why: 'This file contains only part of a long run. Open the run on its server to see this event.',
  };
}

const PROTOCOLS: Record<string, string> = {
  adk: 'ADK',
  'ai-sdk 6': 'AI SDK 6',
  'ai-sdk 7': 'AI SDK 7',
  studio: 'Studio',
  'ag-ui 0.0.59': 'AG-UI 0.0.59',
  'ag-ui 1.0': 'AG-UI 1.0',
};

export default function EventPanel({ film, at }: PanelProps) {
  const state = useEntryDetail(placeOf(film, at));
  const info = eventsOf(film)[at];
  return (
    <section className="panel event-panel" aria-label="Event">
      <PanelHeader title="Event" count={`${number(eventNumber(film, at))} of ${number(eventNumber(film, film.last))}`}>
        {state.kind === 'there' && <Copy label="Copy as JSON" text={() => JSON.stringify(state.closeup, null, 2)} />}
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label={`Event ${eventNumber(film, at)}`}>
        <div className="section summary">
          {info && <KindChip kind={info.kind}>{info.what}</KindChip>}
          <span className="muted" title={clockTime(film, at)}>
            +{duration(timeAt(film, at) / SECOND)}
          </span>
          {state.kind === 'there' && <span className="muted">{state.closeup.type}</span>}
        </div>
        {state.kind === 'there' && <Entry closeup={state.closeup} />}
        {state.kind === 'loading' && <div className="skeleton" role="status" aria-label="Loading the event" />}
        {state.kind === 'missing' && <Empty title="This event is not available">{state.why}</Empty>}
      </div>
    </section>
  );
}

function Entry({ closeup }: { closeup: EntryDetail }) {
  return (
    <>
      <Traceback text={errorText(closeup)} />
      <section className="section">
        <h3>
          Parsed <span className="count">what it means</span>
        </h3>
        {closeup.facts.length ? (
          <ol className="facts">
            {closeup.facts.map((fact, index) => (
              <FactRow key={index} fact={fact} />
            ))}
          </ol>
        ) : (
          <p className="muted">Nothing is parsed from this event.</p>
        )}
      </section>
      <Frames frames={closeup.frames} />
      <section className="section">
        <h3>
          Record <span className="count">{`${closeup.type}, as recorded`}</span>
        </h3>
        <JsonView value={closeup.record} open={2} />
      </section>
    </>
  );
}

/** The text with the reference of an error: of an event, or of the run's end. */
function errorText({ record }: EntryDetail): string {
  const { errorMessage, correlation } = (record ?? {}) as { errorMessage?: unknown; correlation?: unknown };
  return typeof errorMessage === 'string' ? errorMessage : `Reference: ${String(correlation)}.`;
}

function FactRow({ fact }: { fact: ShownFact }) {
  return (
    <li>
      <KindChip kind={kindOfFact(fact.fact)}>{fact.fact}</KindChip>
      <JsonView value={fact.is} open={Object.keys(fact.is).length <= 4 ? 1 : 0} />
    </li>
  );
}

function Frames({ frames }: { frames: Record<string, Frame[]> }) {
  const names = Object.keys(frames);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set(['ai-sdk 7']));
  const shown = names.filter((name) => !hidden.has(name));
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  return (
    <section className="section">
      <h3>
        Wire output <span className="count">what each protocol sends</span>
      </h3>
      <div className="protocols" role="group" aria-label="Protocols">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={!hidden.has(name)}
            onClick={() => toggle(name)}
          >
            {PROTOCOLS[name] ?? name} <span className="muted">{frames[name]!.length}</span>
          </button>
        ))}
      </div>
      <div className="columns">
        {shown.map((name) => (
          <div key={name} className="column">
            <h4>
              {PROTOCOLS[name] ?? name}
              <span className="muted">{plural(frames[name]!.length, 'frame')}</span>
              {frames[name]!.length > 0 && (
                <Copy
                  label={`Copy the ${PROTOCOLS[name] ?? name} frames`}
                  text={() => frames[name]!.map(({ data }) => JSON.stringify(data)).join('\n')}
                />
              )}
            </h4>
            {frames[name]!.map((frame) => (
              <div key={frame.position} className="frame">
                <span className="muted">
                  id {frame.position}
                  {frame.event ? ` · ${`event ${frame.event}`}` : ''}
                </span>
                <JsonView value={frame.data} open={1} />
              </div>
            ))}
            {frames[name]!.length === 0 && <p className="muted">Nothing is sent for this event</p>}
          </div>
        ))}
      </div>
    </section>
  );
}
