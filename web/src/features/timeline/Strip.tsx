/** Every entry as a mark coloured by its kind, and the playhead over them: a native range, so that it speaks. */
import { useCallback, useMemo, useRef, useState, type MouseEvent, type PointerEvent } from 'react';
import { eventsOf } from '../../film/events';
import type { Film } from '../../film/film';
import type { Range } from '../../film/failures';
import { historyOf } from '../../film/state';
import { SECOND, endOf, timeAt } from '../../film/timeline';
import type { Kind } from '../../ui/Kind';
import { duration } from '../../ui/format';
import { keyOf } from '../feature';
import { useSize } from '../../ui/hooks';
import { useDrawing, usePalette, type Palette } from './canvas';

const TIP = 240; // Pixels that the words under the pointer may take.
const THUMB = 2; // Width of the range's thumb, as in timeline.css: its middle is the playhead.

/** How tall a mark is, as a share: what is rare stands out of what streams. */
const TALL: Record<Kind, number> = {
  neutral: 0.3,
  text: 0.45,
  reasoning: 0.45,
  state: 0.65,
  media: 0.75,
  proof: 0.75,
  tool: 0.8,
  approval: 1,
  error: 1,
};

type Props = {
  film: Film;
  at: number;
  selected: string | null;
  seek(cursor: number): void;
  range: Range | null;
  pick(from: number, to: number): void;
};

export function Strip({ film, at, selected, seek, range, pick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(box);
  const palette = usePalette();
  const draw = useCallback(
    (context: CanvasRenderingContext2D) => {
      drawSelected(context, film, selected, size.width, size.height, palette);
      drawMarks(context, film, size.width, size.height, palette);
      drawWrites(context, film, selected, size.width, size.height, palette);
    },
    [film, selected, size, palette],
  );
  useDrawing(canvas, size, draw);
  const [tip, setTip] = useState<{ x: number; words: string } | null>(null);
  const point = (event: MouseEvent) => {
    const { left } = event.currentTarget.getBoundingClientRect();
    setTip({ x: event.clientX - left, words: speak(film, cursorUnder(event, film.last)) });
  };
  // With Shift the pointer picks a range; without, it moves the playhead.
  const picking = useRef<number | null>(null);
  const press = (event: PointerEvent) => {
    if (!event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    picking.current = cursorUnder(event, film.last);
    pick(at, picking.current); // A click alone picks from the playhead to there.
  };
  const drag = (event: PointerEvent) => {
    const to = cursorUnder(event, film.last);
    if (picking.current !== null && to !== picking.current) pick(picking.current, to);
  };
  const release = () => (picking.current = null);
  const spoken = useMemo(() => speak(film, at), [film, at]);
  return (
    <div className="strip" ref={box} onMouseMove={point} onMouseLeave={() => setTip(null)}>
      <canvas ref={canvas} aria-hidden="true" />
      {range && (
        <div
          className="ranged"
          style={{
            left: placeOf(range.from, film.last, size.width),
            width: Math.max(2, placeOf(range.to, film.last, size.width) - placeOf(range.from, film.last, size.width)),
          }}
          aria-hidden="true"
        />
      )}
      <div className="later" style={{ left: placeOf(at, film.last, size.width) }} aria-hidden="true" />
      <input
        type="range"
        min={1}
        max={Math.max(1, film.last)}
        step={1}
        value={at}
        aria-label="Playhead"
        aria-valuetext={spoken}
        onChange={(event) => seek(Number(event.currentTarget.value))}
        onPointerDown={press}
        onPointerMove={drag}
        onPointerUp={release}
        onPointerCancel={release}
      />
      {tip && (
        <div className="strip-tip" aria-hidden="true" style={{ left: Math.min(tip.x, Math.max(0, size.width - TIP)) }}>
          {tip.words}
        </div>
      )}
    </div>
  );
}

/** Say where the playhead is: "event 14, burn_analyst ended, 6.2 s". */
export function speak(film: Film, at: number): string {
  const what = eventsOf(film)[at]?.what ?? 'event';
  return `event ${at}, ${what}, ${duration(timeAt(film, at) / SECOND)}`;
}

/** Return the entry under the pointer. */
function cursorUnder(event: MouseEvent, last: number): number {
  const { left, width } = event.currentTarget.getBoundingClientRect();
  const share = Math.min(1, Math.max(0, (event.clientX - left) / (width || 1)));
  return Math.round(1 + share * (last - 1));
}

function placeOf(cursor: number, last: number, width: number): number {
  const share = last > 1 ? (cursor - 1) / (last - 1) : 0;
  return THUMB / 2 + share * (width - THUMB);
}

function drawMarks(
  context: CanvasRenderingContext2D,
  film: Film,
  width: number,
  height: number,
  palette: Palette,
): void {
  const infos = eventsOf(film);
  const step = width / Math.max(1, film.last - 1);
  const wide = Math.max(1, Math.min(6, step - 1));
  // Of entries that share a pixel, the tallest is seen.
  let column = -1;
  let tallest: Kind | null = null;
  const flush = () => {
    if (tallest === null) return;
    const tall = TALL[tallest] * (height - 4);
    context.fillStyle = palette.fill[tallest];
    context.fillRect(column - wide / 2, height - tall - 1, wide, tall);
  };
  for (let cursor = 1; cursor <= film.last; cursor++) {
    const x = Math.round(placeOf(cursor, film.last, width));
    if (x !== column) {
      flush();
      column = x;
      tallest = null;
    }
    const kind = infos[cursor]!.kind;
    if (tallest === null || TALL[kind] > TALL[tallest]) tallest = kind;
  }
  flush();
}

/** Shade when the selected node ran. */
function drawSelected(
  context: CanvasRenderingContext2D,
  film: Film,
  selected: string | null,
  width: number,
  height: number,
  palette: Palette,
): void {
  if (selected === null || keyOf(selected) !== null) return;
  context.fillStyle = palette.soft.text;
  for (const node of film.items.nodes) {
    if (node.is.name !== selected) continue;
    const from = placeOf(node.since, film.last, width);
    context.fillRect(from, 0, Math.max(2, placeOf(endOf(node)?.cursor ?? film.last, film.last, width) - from), height);
  }
}

/** Point at every write of the selected key. */
function drawWrites(
  context: CanvasRenderingContext2D,
  film: Film,
  selected: string | null,
  width: number,
  height: number,
  palette: Palette,
): void {
  const key = selected === null ? null : keyOf(selected);
  if (key === null) return;
  context.fillStyle = palette.fill.state;
  context.strokeStyle = palette.grey.ground;
  for (const { cursor } of historyOf(film, key)) {
    const x = placeOf(cursor, film.last, width);
    context.beginPath();
    context.moveTo(x, height * 0.5);
    context.lineTo(x - 5, 0.5);
    context.lineTo(x + 5, 0.5);
    context.closePath();
    context.fill();
    context.stroke();
  }
}
