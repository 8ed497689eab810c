/** Helpers for what is computed of films. */
export { grow, readFilm, UnreadableFilm, type Film } from '@adk-prism/client/film';

/** Return a function that is computed once for each film, or each part of one. */
export function once<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>();
  return (key) => {
    let found = known.get(key);
    if (!found) known.set(key, (found = { value: compute(key) }));
    return found.value;
  };
}

/** Return items by what they share, in their order. */
export function grouped<Kind, Shared>(items: readonly Kind[], by: (item: Kind) => Shared): Map<Shared, Kind[]> {
  const found = new Map<Shared, Kind[]>();
  for (const item of items) {
    const known = found.get(by(item));
    if (known) known.push(item);
    else found.set(by(item), [item]);
  }
  return found;
}
