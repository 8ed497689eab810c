/** The entry at the playhead: what was recorded, what it means, and how every protocol says it. */
import { useState } from 'react';
import { useEntryDetail, type EntryDetail, type Frame, type ShownFact } from '../../film/entryDetail';
import { eventsOf } from '../../film/events';
import { clockTime, SECOND, timeAt } from '../../film/timeline';
import { Copy } from '../../ui/Copy';
import { Empty } from '../../ui/Empty';
import { Json } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { PanelHeader } from '../../ui/PanelHeader';
import { Traceback } from '../../ui/Traceback';
import { duration, plural } from '../../ui/format';
import type { PanelProps } from '../panel';
import '../panels.css';
import './event.css';
import { kindOfFact } from './factKinds';
import * as words from '../../words/event';

const PROTOCOLS: Record<string, string> = {
  adk: 'ADK',
  'ai-sdk 6': words.aiSdk6,
  'ai-sdk 7': words.aiSdk7,
  studio: words.studio,
  'ag-ui 0.0.59': 'AG-UI 0.0.59',
  'ag-ui 1.0': 'AG-UI 1.0',
};

export default function EventPanel({ film, at }: PanelProps) {
  const state = useEntryDetail(film.run, at);
  const info = eventsOf(film)[at];
  return (
    <section className="panel event-panel" aria-label={words.event}>
      <PanelHeader title={words.event} count={words.atOf(at, film.last)}>
        {state.kind === 'there' && <Copy label={words.copyAsJson} text={() => JSON.stringify(state.closeup, null, 2)} />}
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label={words.eventNumber(at)}>
        <div className="section summary">
          {info && <KindChip kind={info.kind}>{info.what}</KindChip>}
          <span className="muted" title={clockTime(film, at)}>
            +{duration(timeAt(film, at) / SECOND)}
          </span>
          {state.kind === 'there' && <span className="muted">{state.closeup.type}</span>}
        </div>
        {state.kind === 'there' && <Entry closeup={state.closeup} />}
        {state.kind === 'loading' && <div className="skeleton" role="status" aria-label={words.loadingTheEvent} />}
        {state.kind === 'missing' && <Empty title={words.eventIsNotAvailable}>{state.why}</Empty>}
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
          {words.facts} <span className="count">{words.whatItMeans}</span>
        </h3>
        {closeup.facts.length ? (
          <ol className="facts">
            {closeup.facts.map((fact, index) => (
              <FactRow key={index} fact={fact} />
            ))}
          </ol>
        ) : (
          <p className="muted">{words.noFactsForThisEvent}</p>
        )}
      </section>
      <Frames frames={closeup.frames} />
      <section className="section">
        <h3>
          {words.record} <span className="count">{words.asRecorded(closeup.type)}</span>
        </h3>
        <Json value={closeup.record} open={2} />
      </section>
    </>
  );
}

/** The text with the reference of an error: of an event, or of the run's end. */
function errorText({ record }: EntryDetail): string {
  const { errorMessage, correlation } = (record ?? {}) as { errorMessage?: unknown; correlation?: unknown };
  return typeof errorMessage === 'string' ? errorMessage : words.reference(String(correlation));
}

function FactRow({ fact }: { fact: ShownFact }) {
  return (
    <li>
      <KindChip kind={kindOfFact(fact.fact)}>{fact.fact}</KindChip>
      <Json value={fact.is} open={Object.keys(fact.is).length <= 4 ? 1 : 0} />
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
        {words.frames} <span className="count">{words.whatEachProtocolSends}</span>
      </h3>
      <div className="protocols" role="group" aria-label={words.protocols}>
        {names.map((name) => (
          <button key={name} type="button" className="button" data-look="quiet" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)}>
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
              {frames[name]!.length > 0 && <Copy label={words.copyTheFrames(PROTOCOLS[name] ?? name)} text={() => frames[name]!.map(({ data }) => JSON.stringify(data)).join('\n')} />}
            </h4>
            {frames[name]!.map((frame) => (
              <div key={frame.position} className="frame">
                <span className="muted">
                  {words.id} {frame.position}
                  {frame.event ? ` · ${words.eventName(frame.event)}` : ''}
                </span>
                <Json value={frame.data} open={1} />
              </div>
            ))}
            {frames[name]!.length === 0 && <p className="muted">{words.noFramesForThisEvent}</p>}
          </div>
        ))}
      </div>
    </section>
  );
}
