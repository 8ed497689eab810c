/** What had been said at a cursor, as a person reads it. */
import type { Item, Json, SaidAbout, SaidNews } from '@adk-prism/client/film';
import { once, type Film, countUpTo, isReplaced, present, upTo } from './film';

export type SaidItem = Item<SaidAbout, SaidNews>;
export type Said = { kind: string; since: number; [more: string]: Json | undefined };

const TEXTS = new Set(['text', 'reasoning', 'transcript']);

export function isText(item: SaidItem): boolean {
  return TEXTS.has(item.is.kind);
}

type Pieces = { whole: string; ends: number[] };

/** A text once, with how long it was after each mark: a playhead inside a sentence is one slice. */
const pieces = once((item: SaidItem): Pieces => {
  let length = 0;
  const texts: string[] = [];
  const ends = item.marks.map(([, news]) => {
    if (typeof news === 'string') {
      texts.push(news);
      length += news.length;
    }
    return length;
  });
  return { whole: texts.join(''), ends };
});

function textAt(item: SaidItem, at: number): Said {
  const count = countUpTo(item.marks, at);
  const { whole, ends } = pieces(item);
  const last = count > 0 ? item.marks[count - 1]![1] : '';
  const complete = last === null || typeof last === 'number';
  const length = (ends[count - 1] ?? 0) - (typeof last === 'number' ? last : 0);
  return { ...item.is, text: whole.slice(0, length), complete, since: item.since };
}

/** A call and what became of it, words that were heard and became more, or what was said once. */
function stepsAt(item: SaidItem, at: number): Said {
  const news = upTo(item.marks, at).map((mark) => mark[1] as { [key: string]: Json });
  const first = item.is.kind === 'call' ? { status: 'requested' } : {};
  return Object.assign({ ...item.is, ...first, since: item.since }, ...news);
}

/** What became of an item in the end: one object, so that whoever shows it can tell that nothing changed. */
const settled = once((item: SaidItem): Said => read(item, Infinity));

export function saidAt(item: SaidItem, at: number): Said {
  return (item.marks.at(-1)?.[0] ?? 0) <= at ? settled(item) : read(item, at);
}

function read(item: SaidItem, at: number): Said {
  if (isText(item)) return textAt(item, at);
  return stepsAt(item, at);
}

/** Return what had been said at a cursor, in a film or in a part of what it has. */
export function conversationAt(film: { items: Pick<Film['items'], 'said'> }, at: number): Said[] {
  return present(film.items.said, at)
    .filter((item) => !isReplaced(item.marks))
    .map((item) => saidAt(item, at));
}
