/** How much room the words of the graph take, so that none is cut and no two overlap. */
import type { Vertex } from './drawing';
import * as words from '../../words/graph';

type Face = 'name' | 'key';

/** As in graph.css: what a vertex is called, and a key on an edge. */
const FACES: Record<Face, { weight: number; family: string; usual: number }> = {
  name: { weight: 600, family: '--font', usual: 7.2 },
  key: { weight: 400, family: '--mono', usual: 7.3 },
};

let pen: CanvasRenderingContext2D | null | undefined;
const fonts = new Map<Face, string>();
const widths = new Map<string, number>();
const MOST_WIDTHS = 5000; // Words of many runs; then it begins anew.

/** Return the width of words in pixels; where nothing can be drawn, about what they would take. */
function textWidth(text: string, face: Face): number {
  const known = widths.get(`${face} ${text}`);
  if (known !== undefined) return known;
  if (pen === undefined) pen = typeof document === 'undefined' ? null : (document.createElement('canvas').getContext?.('2d') ?? null);
  const { weight, family, usual } = FACES[face];
  let width = text.length * usual;
  if (pen) {
    if (!fonts.has(face)) fonts.set(face, words.px(weight, getComputedStyle(document.documentElement).getPropertyValue(family) || 'sans-serif'));
    pen.font = fonts.get(face)!;
    width = pen.measureText(text).width;
  }
  if (widths.size >= MOST_WIDTHS) widths.clear();
  widths.set(`${face} ${text}`, width);
  return width;
}

export type Size = { width: number; height: number };

const LINE = 17; // Height of a line of a name.
const AROUND = { name: 22 + 18 + 30, pill: 24 + 18 }; // Border, padding, the sign, and how often it ran.
const LEAST: Partial<Record<Vertex['kind'], Size>> = { start: { width: 62, height: 26 }, end: { width: 62, height: 26 }, tool: { width: 148, height: 42 } };
const USUAL: Size = { width: 152, height: 48 };
export const WIDEST_NAME = 240; // Longer names go on in the next line.
const MOST_LINES = 6; // Of a name that nobody reads anyway; all of it is in the tip.

/** Return the size of a vertex, around its whole name. */
export function sizeOf({ kind, name }: Pick<Vertex, 'kind' | 'name'>): Size {
  const least = LEAST[kind] ?? USUAL;
  const text = Math.ceil(textWidth(name, 'name')) + 2;
  const isPill = kind === 'start' || kind === 'end';
  const lines = Math.min(MOST_LINES, Math.ceil(text / (WIDEST_NAME * 0.94))); // Lines break before they are full.
  return { width: Math.max(least.width, Math.min(text, WIDEST_NAME) + (isPill ? AROUND.pill : AROUND.name)), height: least.height + (lines - 1) * LINE };
}

const PADDING = 12; // Of a key, with its border.
const KEY_LINE = 19;
const MORE = 34; // "+12".
const BETWEEN = 3;
export const WIDEST_KEY = 240;

/** Return the size of a label with some of the keys: below one another, or in a line. */
export function labelSize(keys: readonly string[], shown: number, isLine: boolean): Size {
  // Which of them are shown changes with the playhead: there is room for any.
  const widest = Math.min(WIDEST_KEY, Math.ceil(Math.max(0, ...keys.map((key) => textWidth(key, 'key'))))) + PADDING;
  const hasMore = keys.length > shown;
  if (isLine) return { width: widest * Math.min(shown, keys.length) + (hasMore ? MORE + BETWEEN : 0), height: KEY_LINE };
  return { width: Math.max(widest, hasMore ? MORE : 0), height: KEY_LINE * (Math.min(shown, keys.length) + Number(hasMore)) };
}

const LINE_AROUND = 16 + 18 + 8 + 66 + 30; // Padding, signs, the time or that it did not run, and how often it ran.

/** Return how wide a vertex is that stands in a line of its own. */
export function lineWidth({ name }: Pick<Vertex, 'name'>): number {
  return Math.min(WIDEST_NAME * 2, Math.ceil(textWidth(name, 'name'))) + 2 + LINE_AROUND;
}
