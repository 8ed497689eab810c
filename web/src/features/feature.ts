/** What every panel is given: a film, a moment in it, and how to move. A panel holds no time of its own. */
import type { ComponentType, LazyExoticComponent } from 'react';
import type { Film } from '../film/film';

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
  place: 'centre' | 'inspector' | 'bottom';
  Panel: LazyExoticComponent<ComponentType<PanelProps>>;
};
