/** What every panel is given: a film, a moment in it, and how to move. A panel holds no time of its own. */
import type { ComponentType, LazyExoticComponent } from 'react';
import type { Film } from '../film/film';
import type { Turn } from './tree/rows';
import type { Step } from './tree/steps';

/** What is picked out in every panel: a node by its name, or a key of the state, written `key:topic`. */
const KEY = 'key:';

export function selectionOf(key: string): string {
  return KEY + key;
}

/** Return the key that is selected; null where it is a node. */
export function keyOf(selected: string): string | null {
  return selected.startsWith(KEY) ? selected.slice(KEY.length) : null;
}

export type PanelProps = {
  film: Film;
  /** The cursor of the entry at the playhead. */
  at: number;
  /** What is picked out in every panel: a node, a key, an event; each panel knows its own. */
  selected: string | null;
  select(id: string | null): void;
  /** The messages of the conversation, with their runs. */
  turns: readonly Turn[];
  /** The message that the film is of. */
  turn: string;
  /** The step that is looked at: selecting one does not move the playhead. */
  step: Step | null;
  selectStep(turn: Turn, step: Step): void;
  seek(cursor: number): void;
  /** Open a panel, if it is not open. */
  inspect(panel: string): void;
  app: string;
  session: string;
  live: boolean;
  /**
   * Say something in the chat, with a change of the state that is applied first; absent where nothing can be said.
   * Tells whether it was sent.
   */
  say?: (text: string, stateDelta?: Record<string, unknown>) => Promise<boolean>;
  /** Another run of this session was made, by a change of its state: look at that one. */
  follow?: (run: string) => void;
};

export type PanelSpec = {
  /** Its name in the address bar. */
  name: string;
  title: string;
  /** The key that opens it. */
  key: string;
  place: 'centre' | 'inspector';
  /** Return how much there is to see; 0: it is not offered. Without it, it always is. */
  count?: (film: Film) => number | null;
  Panel: LazyExoticComponent<ComponentType<PanelProps>>;
};
