/** What had been said at a cursor, as a person reads it. */
import type { Item, Json, SaidAbout, SaidNews } from '@adk-prism/client/film';
import { once, type Film, countUpTo, isReplaced, present, upTo } from './film';
import { endOf } from './timeline';

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

/** What a film or a part of one has said. */
type Telling = { items: Pick<Film['items'], 'said'> };

const standingAt = (film: Telling, at: number) =>
  present(film.items.said, at).filter(({ marks }) => !isReplaced(marks));

/** Return what had been said at a cursor, in a film or in a part of what it has. */
export function conversationAt(film: Telling, at: number): Said[] {
  return standingAt(film, at).map((item) => saidAt(item, at));
}

const RETURNED: ReadonlySet<unknown> = new Set(['answered', 'failed']);

/** The cursors at which tools returned, by their call. */
const returns = once((film: Film): ReadonlyMap<string, number> => {
  const tools = film.items.nodes.filter(({ is }) => is.kind === 'tool' && is.call);
  return new Map(
    tools.flatMap((node) => {
      const end = endOf(node);
      return end?.status === 'finished' || end?.status === 'failed' ? [[node.is.call, end.cursor] as const] : [];
    }),
  );
});

/**
 * Return what a chat shows at a cursor. ADK answers calls that were made at once when the last of them is over: until
 * then a tool that has returned would seem to run, beside a state that has its result.
 */
export function chatAt(film: Film, at: number): Said[] {
  const readAt = (item: SaidItem) => {
    if (item.is.kind !== 'call' || (returns(film).get(String(item.is.call)) ?? Infinity) > at) return at;
    const result = item.marks.find(([, news]) => RETURNED.has((news as { [key: string]: Json }).status));
    return Math.max(at, result?.[0] ?? at);
  };
  return standingAt(film, at).map((item) => saidAt(item, readAt(item)));
}
