/** The timeline: a strip to travel on, which opens into a waterfall. */
import { useState } from 'react';
import { useRoute } from '../../app/route';
import { eventsOf } from '../../film/events';
import { clockTime, SECOND, timeAt } from '../../film/timeline';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';
import { duration, plural } from '../../ui/format';
import { type PanelProps, keyOf } from '../feature';
import { FindBar, useFind, useRange, RangeBar } from './FindBar';
import { useEscape, useKeys, type Action } from './keys';
import * as moves from './navigation';
import { NodeTable } from './NodeTable';
import { SPEEDS, usePlayback, type Speed } from './navigation';
import { Strip } from './Strip';
import '../../style/panels.css';
import './timeline.css';
import { nextZoom, Waterfall } from './Waterfall';

/** No more than the strip. */
const STRIP = 'strip';

export default function TimelinePanel({ film, at, selected, select, seek, live }: PanelProps) {
  const [{ options, panel }, move] = useRoute();
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(1);
  const [zoom, setZoom] = useState(1);
  const [scale, setScale] = useState<'time' | 'event' | null>(null);
  // A capture may have no times.
  const byEvent = scale === null ? timeAt(film, film.last) <= 0 : scale === 'event';
  // Whoever asks for the timeline alone, on a small screen, sees all of it at once.
  const usual = panel === 'timeline' ? 'open' : STRIP;
  const shape = options.waterfall ?? usual;
  const turn = (to: string) => move({ options: { ...options, waterfall: shape === to ? STRIP : to } }, 'replace');
  const info = eventsOf(film)[at];
  const failures = moves.failureCount(film);

  const play = () => {
    if (!playing && at >= film.last) seek(1);
    setPlaying(!playing);
  };
  const go = (cursor: number | null) => {
    if (cursor === null) return;
    setPlaying(false);
    seek(cursor);
  };
  const peer = () => {
    const name = selected !== null && keyOf(selected) === null ? selected : moves.nodeNameAt(film, at);
    if (name !== null) go(moves.nextPeer(film, at, name));
  };
  const { wanted, matches, change } = useFind(film, seek);
  const picked = useRange(at, film.last);
  const { range } = picked;
  useEscape(range !== null, picked.clear);
  const actions: Record<Action, () => void> = {
    'previous step': () => go(moves.previousStep(film, at)),
    'next step': () => go(moves.nextStep(film, at)),
    'previous event': () => go(moves.previousEvent(film, at)),
    'next event': () => go(moves.nextEvent(film, at)),
    'previous node': () => go(moves.previousNode(film, at)),
    'next node': () => go(moves.nextNode(film, at)),
    'next failure': () => go(moves.nextFailure(film, at)),
    'next match': () => go(moves.nextOf(matches, at)),
    'previous match': () => go(moves.previousOf(matches, at)),
    'next peer': peer,
    'begin range': picked.begin,
    'end range': picked.end,
    play,
  };
  useKeys((action) => actions[action]());
  usePlayback(film, at, playing, speed, seek, () => setPlaying(false));

  return (
    <section className="timeline" aria-label="Timeline" data-open={shape === STRIP ? undefined : shape}>
      <div className="controls">
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          aria-label={playing ? 'Pause' : 'Play'}
          title={playing ? 'Pause (Space)' : 'Play (Space)'}
          onClick={play}
        >
          <Icon name={playing ? 'pause' : 'play'} />
        </button>
        <button
          type="button"
          className="button speed"
          data-look="quiet"
          title="Playback speed"
          aria-label={`Speed ${speed}×`}
          onClick={() => setSpeed(SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length]!)}
        >
          {speed}×
        </button>
        <Step label="Previous step" keys="←" icon="back" act={actions['previous step']} off={at <= 1} />
        <Step label="Next step" keys="→" icon="on" act={actions['next step']} off={at >= film.last} />
        <span className="where">
          <span className="count">
            event <b>{at}</b> {`of ${film.last}`}
          </span>
          <span className="clock" title={clockTime(film, at)}>
            +{duration(timeAt(film, at) / SECOND)}
          </span>
          {info && <KindChip kind={info.kind}>{info.what}</KindChip>}
        </span>
        {failures > 0 && (
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-kind="error"
            title="Next failure (f)"
            onClick={actions['next failure']}
          >
            <Icon name="error" /> {plural(failures, 'failure')}
          </button>
        )}
        {live && (
          <KindChip kind="text" icon="play">
            live
          </KindChip>
        )}
        <FindBar
          film={film}
          at={at}
          wanted={wanted}
          matches={matches}
          change={change}
          next={actions['next match']}
          previous={actions['previous match']}
        />
        <span className="shapes">
          {!range && (
            <button
              type="button"
              className="button"
              data-look="quiet"
              title="Begin a range at the playhead ([). With a mouse: hold Shift and drag over the events, or drag over the waterfall"
              onClick={picked.begin}
            >
              Select range
            </button>
          )}
          {shape === 'open' && (
            <>
              <button
                type="button"
                className="button"
                data-look="quiet"
                aria-pressed={byEvent}
                title="Space events evenly instead of by time"
                onClick={() => setScale(byEvent ? 'time' : 'event')}
              >
                by event
              </button>
              <button
                type="button"
                className="button"
                data-look="quiet"
                data-square=""
                aria-label="Zoom out"
                title="Zoom out"
                disabled={zoom === 1}
                onClick={() => setZoom(nextZoom(zoom, -1))}
              >
                −
              </button>
              <button
                type="button"
                className="button"
                data-look="quiet"
                data-square=""
                aria-label="Zoom in"
                title="Zoom in"
                onClick={() => setZoom(nextZoom(zoom, 1))}
              >
                +
              </button>
            </>
          )}
          <button
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={shape === 'table'}
            onClick={() => turn('table')}
          >
            Table
          </button>
          <button
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={shape === 'open'}
            onClick={() => turn('open')}
          >
            Waterfall
          </button>
        </span>
      </div>
      <Strip film={film} at={at} selected={selected} seek={go} range={range} pick={picked.pick} />
      <RangeBar film={film} picked={picked} />
      {shape === 'open' && (
        <Waterfall
          film={film}
          at={at}
          selected={selected}
          select={select}
          seek={go}
          range={range}
          pick={picked.pick}
          openCall={() => move({ panel: 'model' }, 'replace')}
          byEvent={byEvent}
          zoom={zoom}
        />
      )}
      {shape === 'table' && <NodeTable film={film} at={at} range={range} select={select} seek={go} />}
    </section>
  );
}

type StepProps = { label: string; keys: string; icon: 'back' | 'on'; act(): void; off: boolean };

function Step({ label, keys, icon, act, off }: StepProps) {
  return (
    <button
      type="button"
      className="button step"
      data-look="quiet"
      data-square=""
      data-way={icon}
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={off}
      onClick={act}
    >
      <Icon name="chevron" />
    </button>
  );
}
