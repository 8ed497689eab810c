/** The list of conversations in order: those that fit a search, pinned ones first, then by the day they were active. */
import type { ConversationEntry } from './catalogue';
import * as wording from '../words/app';

export type Group = { title: string; entries: ConversationEntry[] };

/** Return new entries, those that are as they were as the same objects: these are not drawn again. */
export function sameEntries(known: readonly ConversationEntry[], next: readonly ConversationEntry[]): ConversationEntry[] {
  const old = new Map(known.map((entry) => [JSON.stringify(entry), entry]));
  return next.map((entry) => old.get(JSON.stringify(entry)) ?? entry);
}

const DAY = 24 * 3600 * 1000;

/** Return those with all words of a text in their title or first message. */
export function matching(entries: readonly ConversationEntry[], text: string): readonly ConversationEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter(({ title, said }) => {
    const all = `${title} ${said ?? ''}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Group entries, which come newest first, by when they were active; `now` in milliseconds. */
export function grouped(entries: readonly ConversationEntry[], now: number): Group[] {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const groups = new Map<string, ConversationEntry[]>();
  for (const entry of entries) {
    const title = entry.pinned ? wording.pinned : dayOf(entry.active * 1000, today);
    const group = groups.get(title) ?? [];
    group.push(entry);
    groups.set(title, group);
  }
  return [...groups].map(([title, list]) => ({ title, entries: list }));
}

function dayOf(at: number, today: number): string {
  if (at >= today) return wording.today;
  if (at >= today - DAY) return wording.yesterday;
  if (at >= today - 7 * DAY) return wording.last7Days;
  return wording.older;
}
