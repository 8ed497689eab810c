/** Where everything of the waterfall lies, and how it is drawn. Pure, but for the canvas that it is given. */
import type { CallAbout } from '@adk-prism/client/film';
import type { Film } from '../../film/film';
import { costAt, endAt, endOf, gapsAt, SECOND, tokensAt, waitAt, type NodeItem } from '../../film/timeline';
import type { Kind } from '../../ui/Kind';
import { duration, plural, callTokens, costWords } from '../../ui/format';
import { hatching, type Palette } from './canvas';
import type { Lane } from './lanes';

export const LANE = 24;
export const AXIS = 22;
const BAR = 14;
const NAMES = 180;
const TEXT = '12px';

type Interval = { from: number; until: number };
/** A stretch of time in which no node worked, and what it is. */
type Pause = Interval & { words: string[] };
export type Plan = {
  lanes: Lane[];
  waitLane: boolean;
  waits: Pause[];
  gaps: Pause[];
  /** Where time begins, beside the names. */
  left: number;
  width: number;
  height: number;
  /** The whole time, in microseconds. */
  total: number;
  byEvent: boolean;
  last: number;
  /** The place of a moment, which is told by its cursor or by its time. */
  place(cursor: number, time: number): number;
  /** How far a node goes: to its end, or for now. */
  end(node: NodeItem): number;
  /** The model calls of each node, by its id. */
  calls: ReadonlyMap<string, CallBar[]>;
};

export type CallBar = Interval & { cursor: number; call: CallAbout };

type Wish = { width: number; zoom: number; byEvent: boolean };

export function layout(film: Film, lanes: Lane[], { width, zoom, byEvent }: Wish): Plan {
  const left = Math.min(NAMES, Math.round(width * 0.4));
  const whole = left + Math.max(1, (width - left - 8) * zoom);
  const total = Math.max(
    1,
    film.times.reduce((most, time) => Math.max(most, time), 0),
  );
  const place = (cursor: number, time: number) =>
    left + (whole - left) * (byEvent ? (film.last > 1 ? (cursor - 1) / (film.last - 1) : 0) : time / total);
  const waits = film.items.waits.map((wait) => {
    const { kind, since, until, start, end } = waitAt(wait, film.last);
    const words = [`waiting for a person · ${kind}`, end === null ? 'no answer yet' : duration(end - start)];
    return {
      from: place(since, start * SECOND),
      until: place(until ?? film.last, end === null ? total : end * SECOND),
      words,
    };
  });
  const gaps = byEvent
    ? []
    : gapsAt(film, film.last).map((gap) => ({
        from: place(0, gap.from * SECOND),
        until: place(0, gap.until * SECOND),
        words: ['no agent or tool was running', duration(gap.until - gap.from)],
      }));
  return {
    lanes,
    waitLane: waits.length > 0,
    waits,
    gaps,
    left,
    width: whole,
    height: AXIS + (lanes.length + (waits.length ? 1 : 0)) * LANE + 4,
    total,
    byEvent,
    last: film.last,
    place,
    calls: callBars(film, place, byEvent),
    end: (node) => {
      const end = endOf(node);
      return end ? place(end.cursor, end.end) : place(film.last, total);
    },
  };
}

const LEAST_CALL = 4; // Pixels: a short call can still be met.

function callBars(film: Film, place: Plan['place'], byEvent: boolean): Map<string, CallBar[]> {
  const bars = new Map<string, CallBar[]>();
  for (const { since, is: call } of film.items.calls ?? []) {
    const until = place(since, call.start + call.durationMs * 1000);
    // Only its end has a cursor.
    const from = byEvent ? until : place(since, call.start);
    bars.set(call.node, [
      ...(bars.get(call.node) ?? []),
      { from: Math.min(from, until - LEAST_CALL), until, cursor: since, call },
    ]);
  }
  return bars;
}

/** Return the model call under a place: it is drawn at the lower edge of its agent. */
export function hitCall(plan: Plan, x: number, y: number, inAxis: boolean): CallBar | null {
  const node = hit(plan, x, y, inAxis);
  const isLow = (y - AXIS) % LANE > LANE / 2;
  return (
    (node && isLow && plan.calls.get(node.is.node)?.findLast(({ from, until }) => from <= x && x <= until)) || null
  );
}

export function describeCall({ call }: CallBar): string[] {
  const first = call.firstTokenMs === null ? '' : `, first token ${duration(call.firstTokenMs / 1000)}`;
  return [
    `model call · ${call.model}`,
    `${duration(call.durationMs / 1000)}${first}`,
    callTokens(call.tokens),
    costWords(call.cost),
    call.error,
  ].filter(Boolean);
}

/** Return the node under a place. */
export function hit(plan: Plan, x: number, y: number, inAxis: boolean): NodeItem | null {
  if (inAxis || x < plan.left) return null;
  const lane = plan.lanes[Math.floor((y - AXIS) / LANE) - (plan.waitLane ? 1 : 0)];
  if (!lane) return null;
  const near = 2; // Pixels: a short run is hard to meet.
  return (
    lane.nodes.find(
      (node) => startOf(plan, node) - near <= x && x <= Math.max(plan.end(node), startOf(plan, node) + 1) + near,
    ) ?? null
  );
}

/** Return the wait or the idle time under a place. */
export function hitPause(plan: Plan, x: number, y: number, inAxis: boolean): Pause | null {
  if (inAxis || x < plan.left) return null;
  const isWaitLane = plan.waitLane && y - AXIS < LANE;
  return (
    (isWaitLane ? plan.waits : plan.gaps).find(({ from, until }) => from <= x && x <= Math.max(until, from + 3)) ?? null
  );
}

function startOf(plan: Plan, node: NodeItem): number {
  return plan.place(node.since, node.is.start);
}

/** Say what a node did, for the eye that rests on it. */
export function describe(node: NodeItem, at: number, now: number): string[] {
  const end = endAt(node, at);
  const tokens = tokensAt(node, at).total;
  const lines = [
    `${node.is.name} · ${end ? end.status : node.since > at ? 'later' : 'running'}`,
    `+${duration(node.is.start / SECOND)}, ${duration(((end ?? endOf(node))?.end ?? now) / SECOND - node.is.start / SECOND)}`,
  ];
  if (tokens) lines.push(callTokens(tokensAt(node, at)), costWords(costAt([node], at)));
  if (end?.error) lines.push(end.error);
  if (node.is.derived || end?.derived) lines.push('inferred from the events');
  return lines;
}

export type Look = {
  left: number;
  top: number;
  width: number;
  height: number;
  at: number;
  now: number;
  selected: string | null;
  range: Interval | null;
};

export function drawWaterfall(context: CanvasRenderingContext2D, plan: Plan, look: Look, palette: Palette): void {
  context.save();
  context.beginPath();
  context.rect(plan.left, 0, look.width - plan.left, look.height);
  context.clip();
  context.translate(-look.left, 0);
  drawGaps(context, plan, look, palette);
  drawTicks(context, plan, look, palette);
  context.beginPath();
  context.rect(look.left, AXIS, look.width, look.height);
  context.clip();
  context.translate(0, -look.top);
  drawWaits(context, plan, palette);
  drawLanes(context, plan, look, palette);
  context.restore();
  if (look.range) drawRange(context, plan, look, look.range, palette);
  drawPlayhead(context, plan, look, palette);
}

function drawGaps(context: CanvasRenderingContext2D, plan: Plan, look: Look, palette: Palette): void {
  context.fillStyle = hatching(context, palette.grey.line);
  for (const gap of visible(plan.gaps, look)) context.fillRect(gap.from, AXIS, gap.until - gap.from, look.height);
}

function drawTicks(context: CanvasRenderingContext2D, plan: Plan, look: Look, palette: Palette): void {
  const units = plan.byEvent ? Math.max(1, plan.last - 1) : plan.total / SECOND;
  const scale = (plan.width - plan.left) / units;
  const step = niceStep(90 / scale, plan.byEvent);
  context.font = `${TEXT} ${palette.font}`;
  context.textBaseline = 'middle';
  context.lineWidth = 1;
  const first = Math.max(0, Math.floor((look.left - plan.left) / scale / step) - 1);
  for (let index = first; ; index++) {
    const x = plan.left + index * step * scale;
    if (x > look.left + look.width || index * step > units * 1.0001) break;
    context.strokeStyle = palette.grey.line;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, 0);
    context.lineTo(Math.round(x) + 0.5, look.height);
    context.stroke();
    context.fillStyle = palette.grey['ink-3'];
    const label = plan.byEvent ? `${1 + index * step}` : index === 0 ? '0' : duration(index * step);
    if (x + 4 + context.measureText(label).width <= plan.width) context.fillText(label, x + 4, AXIS / 2);
  }
}

const SMALLEST_TICK = 0.001; // Seconds: times are said in whole milliseconds.

/** Return a step of 1, 2 or 5 times a power of ten that is not below a least one. */
export function niceStep(least: number, whole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-6)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= least) ?? 10 * power;
  return whole ? Math.max(1, Math.round(step)) : Math.max(SMALLEST_TICK, step);
}

function drawWaits(context: CanvasRenderingContext2D, plan: Plan, palette: Palette): void {
  context.fillStyle = hatching(context, palette.fill.approval);
  context.strokeStyle = palette.fill.approval;
  for (const { from, until } of plan.waits) {
    const wide = Math.max(3, until - from);
    context.fillRect(from, AXIS + (LANE - BAR) / 2, wide, BAR);
    context.strokeRect(from + 0.5, AXIS + (LANE - BAR) / 2 + 0.5, wide - 1, BAR - 1);
  }
}

function drawLanes(context: CanvasRenderingContext2D, plan: Plan, look: Look, palette: Palette): void {
  const above = AXIS + (plan.waitLane ? LANE : 0);
  const first = Math.max(0, Math.floor((look.top - LANE) / LANE) - 1);
  const last = Math.min(plan.lanes.length, first + Math.ceil(look.height / LANE) + 3);
  context.font = `${TEXT} ${palette.font}`;
  context.textBaseline = 'middle';
  for (let row = first; row < last; row++) {
    const lane = plan.lanes[row]!;
    const top = above + row * LANE;
    if (lane.name === look.selected) {
      context.fillStyle = palette.soft.text;
      context.fillRect(look.left, top, look.width, LANE);
    }
    drawLane(context, plan, lane, top + (LANE - BAR) / 2, look, palette);
  }
}

function drawLane(
  context: CanvasRenderingContext2D,
  plan: Plan,
  lane: Lane,
  top: number,
  look: Look,
  palette: Palette,
): void {
  const right = look.left + look.width;
  let drawn = -Infinity;
  for (let index = firstVisible(plan, lane, look.left); index < lane.nodes.length; index++) {
    const node = lane.nodes[index]!;
    const from = startOf(plan, node);
    if (from > right) break;
    const until = Math.max(plan.end(node), from + 2);
    if (until - drawn < 0.5) continue; // Its pixel is taken.
    drawn = until;
    context.fillStyle = palette.fill[kindOf(node, look.at)];
    context.beginPath();
    context.roundRect(from, top, until - from, BAR, Math.min(3, (until - from) / 2));
    context.fill();
    drawCalls(context, plan.calls.get(node.is.node) ?? [], top, palette);
    const next = lane.nodes[index + 1];
    drawLabel(
      context,
      node,
      until + 6,
      (next ? Math.min(startOf(plan, next), right) : right) - 4,
      top + BAR / 2,
      look,
      palette,
    );
  }
}

const CALL = 5;

function drawCalls(context: CanvasRenderingContext2D, calls: CallBar[], top: number, palette: Palette): void {
  for (const { from, until, call } of calls) {
    context.fillStyle = palette.fill[call.error ? 'error' : 'reasoning'];
    context.fillRect(from, top + BAR - CALL, until - from, CALL);
  }
}

function firstVisible(plan: Plan, lane: Lane, left: number): number {
  let low = 0;
  let high = lane.nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (plan.end(lane.nodes[middle]!) < left) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Write how long a node took and its tokens behind it, where there is room. */
function drawLabel(
  context: CanvasRenderingContext2D,
  node: NodeItem,
  from: number,
  until: number,
  middle: number,
  look: Look,
  palette: Palette,
): void {
  if (until - from < 36 || node.since > look.at) return;
  const end = endAt(node, look.at);
  const tokens = tokensAt(node, look.at).total;
  const time = duration(((end?.end ?? look.now) - node.is.start) / SECOND);
  const texts = tokens ? [`${time} · ${plural(tokens, 'token')}`, time] : [time];
  const text = texts.find((each) => context.measureText(each).width <= until - from);
  if (!text) return;
  context.fillStyle = palette.grey['ink-2'];
  context.fillText(text, from, middle + 0.5);
}

const KINDS: Record<string, Kind> = {
  failed: 'error',
  waiting: 'approval',
  cancelled: 'neutral',
  incomplete: 'neutral',
};

function kindOf(node: NodeItem, at: number): Kind {
  const ended = KINDS[endAt(node, at)?.status ?? ''];
  if (ended) return ended;
  if (node.is.kind === 'tool') return 'tool';
  return node.is.kind === 'agent' ? 'text' : 'neutral';
}

/** Draw the picked range: its ends, and a tint between them. */
function drawRange(context: CanvasRenderingContext2D, plan: Plan, look: Look, range: Interval, palette: Palette): void {
  const from = Math.max(plan.left, range.from - look.left);
  const until = Math.min(look.width, range.until - look.left);
  if (until < plan.left || from > look.width) return;
  context.save();
  context.fillStyle = palette.grey.focus;
  context.globalAlpha = 0.14;
  context.fillRect(from, 0, Math.max(2, until - from), look.height);
  context.globalAlpha = 1;
  for (const x of [range.from - look.left, range.until - look.left])
    if (x >= plan.left && x <= look.width) context.fillRect(Math.round(x), 0, 1, look.height);
  context.restore();
}

/** Draw the playhead, and a veil over what comes later. */
function drawPlayhead(context: CanvasRenderingContext2D, plan: Plan, look: Look, palette: Palette): void {
  const x = plan.place(look.at, look.now) - look.left;
  const from = Math.max(plan.left, x);
  context.save();
  context.globalAlpha = 0.62;
  context.fillStyle = palette.grey.ground;
  if (look.at < plan.last) context.fillRect(from, AXIS, look.width - from, look.height);
  context.restore();
  if (x < plan.left - 1 || x > look.width) return;
  context.fillStyle = palette.grey.focus;
  context.fillRect(Math.round(x) - 1, 0, 2, look.height);
}

function visible(intervals: Interval[], look: Look): Interval[] {
  return intervals.filter(({ from, until }) => until >= look.left && from <= look.left + look.width);
}
