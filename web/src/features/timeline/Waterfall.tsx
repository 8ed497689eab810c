/**
 * The run in time: a lane per node, waits for people, and time that nobody accounts for. Only what is seen is drawn.
 */
import { useCallback, useMemo, useRef, useState, type MouseEvent, type PointerEvent } from 'react';
import type { Film } from '../../film/film';
import type { Range } from '../../film/failures';
import { SECOND, timeAt } from '../../film/timeline';
import { Icon, type IconName } from '../../ui/Icon';
import { useSize } from '../../ui/hooks';
import { useDrawing, usePalette } from './canvas';
import {
  describe,
  describeCall,
  drawWaterfall,
  hit,
  hitCall,
  hitPause,
  LANE,
  AXIS,
  layout,
  type Plan,
} from './drawing';
import { lanesOf, type Lane } from './lanes';
import { cursorAt } from './navigation';

const ICONS: Record<Lane['kind'], IconName> = {
  agent: 'agent',
  tool: 'tool',
  workflow: 'branch',
  function: 'code',
  join: 'branch',
  node: 'neutral',
};
const MOST_ZOOM = 512;
const SCROLLBAR = 14;
const LEAST_DRAG = 4; // Pixels: less is a click.

type Props = {
  film: Film;
  at: number;
  selected: string | null;
  select(id: string | null): void;
  seek(cursor: number): void;
  range: Range | null;
  pick(from: number, to: number): void;
  /** Open the model panel. */
  openCall(): void;
  byEvent: boolean;
  zoom: number;
};

export function nextZoom(zoom: number, direction: 1 | -1): number {
  return Math.min(MOST_ZOOM, Math.max(1, direction > 0 ? zoom * 2 : zoom / 2));
}

export function Waterfall({ film, at, selected, select, seek, range, pick, openCall, byEvent, zoom }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const palette = usePalette();
  const [scroll, setScroll] = useState({ left: 0, top: 0 });
  const [tip, setTip] = useState<{ x: number; y: number; lines: string[] } | null>(null);
  const lanes = lanesOf(film);
  const plan = useMemo(
    () => layout(film, lanes, { width: size.width, zoom, byEvent }),
    [film, lanes, size.width, zoom, byEvent],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the range is a new object with every render
  const draw = useCallback(
    (context: CanvasRenderingContext2D) =>
      drawWaterfall(
        context,
        plan,
        {
          ...scroll,
          ...size,
          at,
          now: timeAt(film, at),
          selected,
          range: range && { from: placeAt(plan, film, range.from), until: placeAt(plan, film, range.to) },
        },
        palette,
      ),
    [plan, scroll, size, film, at, selected, palette, range?.from, range?.to],
  );
  useDrawing(canvas, size, draw);

  const pointed = (event: MouseEvent) => {
    const bounds = box.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const place = [x + scroll.left, y + scroll.top, y < AXIS] as const;
    return { x, y, found: hit(plan, ...place), call: hitCall(plan, ...place), pause: hitPause(plan, ...place) };
  };
  const cursorUnder = (x: number) => {
    const share = Math.min(1, Math.max(0, (x + scroll.left - plan.left) / (plan.width - plan.left)));
    return byEvent ? Math.round(1 + share * (film.last - 1)) : cursorAt(film, share * plan.total);
  };
  // A mouse that is dragged picks a range; a finger scrolls.
  const drag = useRef<{ x: number; isPicking: boolean } | null>(null);
  const press = (event: PointerEvent) => {
    const isScrollbar = event.nativeEvent.offsetY > event.currentTarget.clientHeight;
    drag.current =
      event.pointerType === 'mouse' && event.button === 0 && !isScrollbar
        ? { x: pointed(event).x, isPicking: false }
        : null;
  };
  const stretch = (event: PointerEvent) => {
    if (!drag.current || event.buttons === 0) return;
    const { x } = pointed(event);
    if (!drag.current.isPicking && Math.abs(x - drag.current.x) < LEAST_DRAG) return;
    if (!drag.current.isPicking) event.currentTarget.setPointerCapture(event.pointerId);
    drag.current.isPicking = true;
    pick(cursorUnder(drag.current.x), cursorUnder(x));
  };
  const click = (event: MouseEvent) => {
    if (drag.current?.isPicking) return void (drag.current = null);
    const { x, found, call } = pointed(event);
    if (call) {
      seek(call.cursor);
      openCall();
    } else if (found) {
      select(found.is.name);
      seek(found.since);
    } else {
      seek(cursorUnder(x));
    }
  };
  const move = (event: MouseEvent) => {
    const { x, y, found, call, pause } = pointed(event);
    const lines = call ? describeCall(call) : found ? describe(found, at, timeAt(film, at)) : (pause?.words ?? null);
    setTip(lines ? { x, y, lines } : null);
  };

  const waits = plan.waitLane ? 1 : 0;
  const first = Math.max(0, Math.floor((scroll.top - AXIS) / LANE) - waits);
  const shown = lanes.slice(first, first + Math.ceil(size.height / LANE) + 2);
  return (
    <div className="waterfall" ref={box} style={{ height: plan.height + SCROLLBAR }}>
      <div
        className="scroller"
        tabIndex={0}
        role="group"
        aria-label={`Waterfall: ${lanes.length} lanes, ${film.items.nodes.length} nodes, ${(timeAt(film, film.last) / SECOND).toFixed(1)} seconds`}
        onScroll={(event) => setScroll({ left: event.currentTarget.scrollLeft, top: event.currentTarget.scrollTop })}
        onClick={click}
        onPointerDown={press}
        onPointerMove={stretch}
        onMouseMove={move}
        onMouseLeave={() => setTip(null)}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div className="extent" style={{ width: plan.width, height: plan.height }} />
      </div>
      <ul className="lane-names" aria-label="Lanes" style={{ width: plan.left }}>
        {plan.waitLane && first === 0 && (
          <li style={{ top: AXIS - scroll.top }} data-kind="approval">
            <span>
              <Icon name="approval" /> waiting for a person
            </span>
          </li>
        )}
        {shown.map((lane, index) => (
          <li
            key={lane.id}
            style={{
              top: AXIS + (first + index + waits) * LANE - scroll.top,
              paddingLeft: 8 + Math.min(lane.depth, 6) * 12,
            }}
          >
            <button
              type="button"
              aria-pressed={selected === lane.name}
              title={lane.name}
              onClick={() => select(selected === lane.name ? null : lane.name)}
            >
              <Icon name={ICONS[lane.kind]} />
              <span>{lane.name}</span>
              {lane.nodes.length > 1 && <small>×{lane.nodes.length}</small>}
            </button>
          </li>
        ))}
      </ul>
      {tip && (
        <div
          className="tip"
          style={{ left: Math.min(tip.x + 12, size.width - 220), top: Math.min(tip.y + 14, size.height - 70) }}
        >
          {tip.lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </div>
      )}
    </div>
  );
}

function placeAt(plan: Plan, film: Film, cursor: number): number {
  return plan.place(cursor, timeAt(film, cursor));
}
