/** What is picked out in every panel: a node by its name, or a key of the state, written `key:topic`. */
const KEY = 'key:';

export function selectionOf(key: string): string {
  return KEY + key;
}

/** Return the key that is selected; null where it is a node. */
export function keyOf(selected: string): string | null {
  return selected.startsWith(KEY) ? selected.slice(KEY.length) : null;
}
