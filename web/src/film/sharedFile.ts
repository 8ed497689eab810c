/**
 * A run that lies in the page itself: a file written by `adk-prism share` has the film in it, and no server.
 * The block is data (`type="application/json"`), which no browser runs.
 */
import type { AppGraph } from './appGraph';
import type { EntryDetail } from '../features/event/EventPanel';
import type { Document } from '@adk-prism/client/film';
import type { ModelCall } from '../features/model_calls/modelCalls';

export type Shared = {
  /** The version of adk-prism that wrote the file. */
  writer: string;
  film: Document;
  /** By cursor; of a long run, only some. */
  entries: Record<string, EntryDetail>;
  /** Files as data addresses, by cursor and part; those that are large are left out. */
  files: Record<string, string>;
  graph: AppGraph | null;
  /** What was sent to models, if whoever shared the run asked for it. */
  modelCalls?: ModelCall[];
};

export const BLOCK = 'prism-film';

let known: { value: Shared | null } | null = null;

/** Return the run in this page; null where the page has a server. */
export function shared(): Shared | null {
  if (!known) {
    const block = document.getElementById(BLOCK);
    known = { value: block ? (JSON.parse(block.textContent ?? '') as Shared) : null };
  }
  return known.value;
}
