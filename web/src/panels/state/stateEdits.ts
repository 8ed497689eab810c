/** Changes of the state that a person made in the panel: nothing is changed before a fork is made with them. */
import type { Json } from '../../film/document';
import * as words from '../../words/state';

/** By key: its new value; undefined where it is taken out. */
export type Edits = ReadonlyMap<string, Json | undefined>;

export const NO_EDITS: Edits = new Map();

/** What the server takes with a fork. */
export type StateChange = { stateDelta?: Record<string, Json>; removeState?: string[] };

export function changeOf(edits: Edits): StateChange {
  const set = [...edits].filter((edit): edit is [string, Json] => edit[1] !== undefined);
  const removed = [...edits].flatMap(([key, value]) => (value === undefined ? [key] : []));
  return { ...(set.length ? { stateDelta: Object.fromEntries(set) } : {}), ...(removed.length ? { removeState: removed } : {}) };
}

const RESERVED = ['app:', 'user:', 'temp:', '_adk'];

/** Say why a key cannot be set in a fork; empty if it can, as far as the page knows. */
export function whyNotKey(key: string): string {
  if (!key) return words.keyNeedsAName;
  const prefix = RESERVED.find((each) => key.startsWith(each));
  return prefix ? words.keysThatBegin(prefix) : '';
}

/** Read a value; the reason if it is none. */
export function readValue(text: string): { value: Json } | { why: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { why: words.valueMustBeValidJson(error instanceof Error ? error.message : String(error)) };
  }
}
