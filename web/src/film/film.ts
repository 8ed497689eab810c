/** A film in the page: a whole document, and how it grows while its run goes on. */
import { isReplaced } from './bisect';
import { VERSION, type Document, type DocumentGrowth, type Growth, type Item, type Items } from './document';

export type Film = Document;

export class UnreadableFilm extends Error {}

/** Read a document. Throw `UnreadableFilm` for what is none, or is newer than this page. */
export function readFilm(value: unknown): Film {
  const film = value as Partial<Film> | null;
  if (typeof film !== 'object' || film === null || typeof film.version !== 'number') {
    throw new UnreadableFilm('This is not adk-prism run data.');
  }
  if (film.version > VERSION) {
    throw new UnreadableFilm(
      `This run was written by a newer adk-prism: its format version is ${film.version}, and this page reads up to ${VERSION}. Update adk-prism to open it.`,
    );
  }
  return film as Film;
}

/** Return a film and what came after its end. Throw if the growth belongs elsewhere: then read it whole. */
export function grow(film: Film, growth: DocumentGrowth): Film {
  if (growth.run !== film.run || growth.after !== film.last) {
    throw new UnreadableFilm(`The update starts after event ${growth.after}, but the loaded run ends at event ${film.last}.`);
  }
  const kinds = Object.keys(growth.items) as (keyof Items)[];
  const items = Object.fromEntries(kinds.map((kind) => [kind, merge(film.items[kind] ?? [], growth.items[kind] ?? [])]));
  return { ...film, last: growth.last, ended: growth.ended, times: film.times.concat(growth.times), items: { ...film.items, ...items } as Items };
}

function merge(known: readonly Item<unknown, unknown>[], news: readonly Growth[]): readonly Item<unknown, unknown>[] {
  if (!news.length) return known;
  const items = known.slice();
  for (const item of news) {
    const before = items[item.index];
    items[item.index] = before
      ? { ...before, marks: isReplaced(item.marks) ? item.marks : before.marks.concat(item.marks) }
      : (item as Item<unknown, unknown>);
  }
  return items;
}

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
