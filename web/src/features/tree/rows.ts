/** The rows of the tree: a divider for each message, its steps below, repeats folded. Pure. */
import type { Film } from '../../film/film';
import { pausesOf } from '../../film/joined';
import { timeAt } from '../../film/timeline';
import { stepsOf, type Step } from './steps';

/** A message of the conversation, and the runs that answered it. */
export type Turn = {
  /** The message that is the answer. */
  message: string;
  /** What was asked. */
  said: string;
  runs: readonly string[];
};

export type Row =
  | { kind: 'turn'; key: string; turn: Turn; index: number; isOpen: boolean; film: Film | null }
  | { kind: 'step'; key: string; turn: Turn; film: Film; step: Step; depth: number; isOpen: boolean | null }
  | { kind: 'fold'; key: string; turn: Turn; film: Film; steps: readonly Step[]; depth: number; isOpen: boolean }
  | { kind: 'note'; key: string; turn: Turn; words: string };

/** So many equal steps in a row, at least, become one line. */
const LEAST_FOLD = 3;

export type Shape = {
  /** The film of each turn, where it is loaded. */
  films: ReadonlyMap<string, Film>;
  /** Keys of rows that somebody opened or closed. */
  choices: ReadonlyMap<string, boolean>;
  /** The turn that is open without being asked for. */
  focus: string;
};

/** Return the rows that are to be seen, of all turns. */
export function rowsOf(turns: readonly Turn[], { films, choices, focus }: Shape): Row[] {
  const rows: Row[] = [];
  for (const [index, turn] of turns.entries()) {
    const film = films.get(turn.message) ?? null;
    const key = turn.message;
    const isOpen = choices.get(key) ?? isOpenAtFirst(turn, index, turns.length, focus);
    rows.push({ kind: 'turn', key, turn, index, isOpen, film });
    if (!isOpen) continue;
    if (!film) rows.push({ kind: 'note', key: `${key} note`, turn, words: 'Loading…' });
    else addSteps(rows, turn, film, stepsOf(film), 0, choices);
  }
  return rows;
}

/** The last messages are open: of a long conversation, the others are loaded when they are opened. */
const OPEN_TURNS = 5;

export function isOpenAtFirst(turn: Turn, index: number, count: number, focus: string): boolean {
  return turn.message === focus || index >= count - OPEN_TURNS;
}

function addSteps(
  rows: Row[],
  turn: Turn,
  film: Film,
  steps: readonly Step[],
  depth: number,
  choices: ReadonlyMap<string, boolean>,
): void {
  for (let index = 0; index < steps.length; ) {
    const same = countSame(steps, index);
    if (same < LEAST_FOLD) {
      for (let next = index; next < index + same; next++) addStep(rows, turn, film, steps[next]!, depth, choices);
    } else {
      const folded = steps.slice(index, index + same);
      const key = `${turn.message} f${folded[0]!.id}`;
      const isOpen = choices.get(key) ?? false;
      rows.push({ kind: 'fold', key, turn, film, steps: folded, depth, isOpen });
      if (isOpen) for (const step of folded) addStep(rows, turn, film, step, depth + 1, choices);
    }
    index += same;
  }
}

function addStep(
  rows: Row[],
  turn: Turn,
  film: Film,
  step: Step,
  depth: number,
  choices: ReadonlyMap<string, boolean>,
): void {
  const key = `${turn.message} ${step.id}`;
  const isOpen = step.children.length ? (choices.get(key) ?? true) : null;
  rows.push({ kind: 'step', key, turn, film, step, depth, isOpen });
  if (isOpen) addSteps(rows, turn, film, step.children, depth + 1, choices);
}

/** Return how many steps from one on are equal: the same leaf again, and none that failed or waits. */
function countSame(steps: readonly Step[], from: number): number {
  const first = steps[from]!;
  if (!isFoldable(first)) return 1;
  let count = 1;
  while (from + count < steps.length) {
    const next = steps[from + count]!;
    if (next.kind !== first.kind || (first.kind !== 'state' && next.name !== first.name) || !isFoldable(next)) break;
    count++;
  }
  return count;
}

function isFoldable({ children, status }: Step): boolean {
  return children.length === 0 && status === 'finished';
}

/** Return where on the time axis of an answer a moment is, from 0 to 1. What a person took to answer is cut short. */
export type Axis = {
  place(time: number): number /** Microseconds of the whole, without what was cut. */;
  total: number;
};

/** A pause takes this share of the axis, however long it was. */
const PAUSE = 0.06;

export function axisOf(film: Film): Axis {
  const end = stepsOf(film).reduce((latest, step) => Math.max(latest, step.end), Math.max(1, timeAt(film, film.last)));
  const pauses = pausesOf(film);
  const cut = pauses.reduce((sum, { from, until }) => sum + until - from, 0);
  const active = Math.max(1, end - cut);
  const each = pauses.length ? Math.min(PAUSE, 0.3 / pauses.length) : 0;
  const room = 1 - each * pauses.length;
  const place = (time: number) => {
    let before = 0;
    let share = 0;
    for (const { from, until } of pauses) {
      if (time <= from) break;
      share += time >= until ? each : (each * (time - from)) / Math.max(1, until - from);
      before += Math.min(time, until) - from;
    }
    return Math.min(1, ((time - before) / active) * room + share);
  };
  return { place, total: active };
}

const SCALES = [1, 2, 5];

/** Return round times along an axis, in microseconds. */
export function ticksOf({ total }: Axis, most = 4): number[] {
  let step = 1000;
  for (let power = 0; total / step > most; power++) step = 1000 * SCALES[power % 3]! * 10 ** Math.floor(power / 3);
  const ticks: number[] = [];
  for (let time = step; time < total; time += step) ticks.push(time);
  return ticks;
}
