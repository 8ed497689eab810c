/** What the command palette offers beyond what the shell knows: each part of the page adds its own while it is shown. */
import { useEffect, useRef } from 'react';
import type { IconName } from '../ui/Icon';

export type Command = {
  id: string;
  group: 'Actions' | 'Panels' | 'Steps' | 'Apps' | 'Conversations' | 'Runs';
  title: string;
  /** What stands beside the title: a key that does the same, or what it is. */
  hint?: string;
  /** More words to find it by. */
  words?: string;
  icon: IconName;
  run(): void;
};

const sources = new Set<() => readonly Command[]>();

/** Offer commands while a component is shown; they are made when the palette is opened. */
export function useCommands(make: () => readonly Command[]): void {
  const latest = useRef(make);
  useEffect(() => {
    latest.current = make;
  });
  useEffect(() => {
    const source = () => latest.current();
    sources.add(source);
    return () => void sources.delete(source);
  }, []);
}

/** Return the commands of all parts that are shown. */
export function offeredCommands(): Command[] {
  return [...sources].flatMap((source) => source());
}

/** Of each group so many are shown: whoever wants another one types more. */
const MOST = 8;

/** Return the commands that have all words of a text, the best of each group first. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = new Map<string, number>();
  return commands
    .map((command) => ({ command, rank: rankOf(command, words) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => (words.length ? a.rank - b.rank : 0))
    .map(({ command }) => command)
    .filter(({ group }) => {
      const count = (counts.get(group) ?? 0) + 1;
      counts.set(group, count);
      return count <= MOST;
    })
    .sort((a, b) => GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group));
}

const GROUPS: readonly Command['group'][] = ['Actions', 'Panels', 'Steps', 'Apps', 'Conversations', 'Runs'];

/** The earlier the words stand in the title, the better; -1: they are not there. */
function rankOf({ title, hint = '', words: more = '', group }: Command, words: readonly string[]): number {
  const name = title.toLowerCase();
  const all = `${name} ${hint} ${more} ${group}`.toLowerCase();
  if (!words.every((word) => all.includes(word))) return -1;
  return words.reduce((sum, word) => sum + (name.includes(word) ? name.indexOf(word) : 100), 0);
}
