/** The trace: every step of the conversation as a tree, with its time, and the playhead to travel with. */
import { useCallback, useMemo, useRef, useState, type PointerEvent } from 'react';
import { eventsOf } from '../../film/events';
import type { Film } from '../../film/film';
import { clockTime, SECOND, timeAt } from '../../film/timeline';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';
import { duration, plural, number } from '../../ui/format';
import type { PanelProps } from '../feature';
import { FindBar, RangeBar } from './FindBar';
import { failureCount } from './navigation';
import { isOpenAtFirst, rowsOf, type Turn } from './rows';
import { stepNumber, type Step } from './steps';
import { TreeRows } from './TreeRows';
import { useTransport } from './transport';
import { useTurnFilms } from './turnFilms';
import '../../style/panels.css';
import './tree.css';

export default function TreePanel(props: PanelProps) {
  const { film, at, live, turns, turn, step, selectStep } = props;
  const [choices, setChoices] = useState<ReadonlyMap<string, boolean>>(new Map());
  const toggle = useCallback((key: string, isOpen: boolean) => setChoices((all) => new Map(all).set(key, isOpen)), []);
  const isWanted = useCallback(
    (one: Turn, index: number) => choices.get(one.message) ?? isOpenAtFirst(one, index, turns.length, turn),
    [choices, turn, turns.length],
  );
  const films = useTurnFilms(turns, { message: turn, film }, isWanted);
  const rows = useMemo(() => rowsOf(turns, { films, choices, focus: turn }), [turns, films, choices, turn]);

  const { playing, speed, nextSpeed, go, find, picked, actions } = useTransport(props);
  const { wanted, matches, change } = find;
  const pick = useCallback((one: Turn, chosen: Step) => selectStep(one, chosen), [selectStep]);
  const failures = failureCount(film);
  return (
    <section className="panel tree-panel" aria-label="Trace">
      <header className="panel-header">
        <h2>
          Trace <span className="count">{plural(stepNumber(film, film.last).of, 'step')}</span>
        </h2>
        {live && (
          <KindChip kind="text" icon="play">
            live
          </KindChip>
        )}
        {failures > 0 && (
          <button
            type="button"
            className="button failures"
            data-look="quiet"
            data-kind="error"
            title="Next failure (f)"
            onClick={actions['next failure']}
          >
            <Icon name="error" /> {plural(failures, 'failure')}
          </button>
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
      </header>
      <div className="transport">
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          aria-label={playing ? 'Pause' : 'Play'}
          title={playing ? 'Pause (Space)' : 'Play (Space)'}
          onClick={actions.play}
        >
          <Icon name={playing ? 'pause' : 'play'} />
        </button>
        <button
          type="button"
          className="button speed"
          data-look="quiet"
          title="Playback speed"
          aria-label={`Speed ${speed}×`}
          onClick={nextSpeed}
        >
          {speed}×
        </button>
        <Move label="Previous step" keys="←" way="back" act={actions['previous step']} off={at <= 1} />
        <Move label="Next step" keys="→" way="on" act={actions['next step']} off={at >= film.last} />
        <Playhead film={film} at={at} seek={go} pick={picked.pick} />
        <span className="clock" title={clockTime(film, at)}>
          {duration(timeAt(film, at) / SECOND)}
        </span>
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          aria-label="Select range"
          title="Select a range from the playhead on ([). With a mouse: hold Shift and drag the playhead"
          disabled={picked.range !== null}
          onClick={picked.begin}
        >
          <Icon name="range" />
        </button>
      </div>
      <RangeBar film={film} picked={picked} />
      <TreeRows
        rows={rows}
        focus={turn}
        at={at}
        isPast={at < film.last}
        chosen={step ? `${turn} ${step.id}` : null}
        matches={matches}
        toggle={toggle}
        pick={pick}
      />
    </section>
  );
}

type PlayheadProps = { film: Film; at: number; seek(cursor: number): void; pick(from: number, to: number): void };

/** The playhead is a native range, so that it speaks. With Shift, the pointer picks a range instead of moving it. */
function Playhead({ film, at, seek, pick }: PlayheadProps) {
  const picking = useRef<number | null>(null);
  const under = (event: PointerEvent) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - left) / (width || 1)));
    return Math.round(1 + share * (film.last - 1));
  };
  const press = (event: PointerEvent) => {
    if (!event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    picking.current = under(event);
    pick(at, picking.current); // A click alone picks from the playhead to there.
  };
  const drag = (event: PointerEvent) => {
    const to = under(event);
    if (picking.current !== null && to !== picking.current) pick(picking.current, to);
  };
  const release = () => void (picking.current = null);
  const spoken = useMemo(() => speak(film, at), [film, at]);
  return (
    <input
      className="playhead"
      type="range"
      min={1}
      max={Math.max(1, film.last)}
      step={1}
      value={at}
      aria-label="Playhead"
      aria-valuetext={spoken}
      title={spoken}
      onChange={(event) => seek(Number(event.currentTarget.value))}
      onPointerDown={press}
      onPointerMove={drag}
      onPointerUp={release}
      onPointerCancel={release}
    />
  );
}

/** Say where the playhead is: "step 14 of 41, burn_analyst ended, 6.2 s". */
export function speak(film: Film, at: number): string {
  const step = stepNumber(film, at);
  return `step ${number(step.number)} of ${number(step.of)}, ${eventsOf(film)[at]?.what ?? 'event'}, ${duration(timeAt(film, at) / SECOND)}`;
}

type MoveProps = { label: string; keys: string; way: 'back' | 'on'; act(): void; off: boolean };

function Move({ label, keys, way, act, off }: MoveProps) {
  return (
    <button
      type="button"
      className="button"
      data-look="quiet"
      data-square=""
      data-way={way}
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={off}
      onClick={act}
    >
      <Icon name="chevron" />
    </button>
  );
}
