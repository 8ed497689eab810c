/** The film of a run: all that its panels show, at any moment, loaded once and grown while the run goes on. */
import { address, delay, json, type Server } from './connection.ts';
import { PrismError } from './errors.ts';
import {
  VERSION,
  type Document,
  type DocumentGrowth,
  type Growth,
  type Item,
  type Items,
  type Mark,
} from './film-document.ts';

export * from './film-document.ts';
export type Film = Document;

export type FilmState = {
  film: Film | null;
  /** The run goes on, and the film with it. */
  isLive: boolean;
  /** Why the film, or what follows, is not there. */
  error: Error | null;
};

/** Milliseconds between two looks at a film that grows: more than the eye sees costs, and shows nothing. */
const PACE = 120;
const FIRST_RETRY = 500;
const LAST_RETRY = 15_000;

/** What was read is no film, is newer than this client, or does not go on where the last one ended. */
export class UnreadableFilm extends Error {
  override name = 'UnreadableFilm';
}

/** Return the film of a run as it is now. */
export async function loadFilm(server: Server, runId: string, signal?: AbortSignal): Promise<Film> {
  return readFilm(await json(server, addressOf(server, runId), 'GET', undefined, signal));
}

/** Follows one run's film. Each state is a new object, as `useSyncExternalStore` wants it. */
export class FilmStore {
  readonly #server: Server;
  readonly #run: string;
  readonly #listeners = new Set<() => void>();
  #state: FilmState = { film: null, isLive: true, error: null };
  #watching: AbortController | null = null;

  constructor(server: Server, runId: string) {
    this.#server = server;
    this.#run = runId;
  }

  readonly getState = (): FilmState => this.#state;

  /** Be told of every change. The film is followed while somebody listens; the function that is returned ends that. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (!this.#watching) void this.#follow((this.#watching = new AbortController()).signal);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#watching?.abort();
      this.#watching = null;
    };
  };

  async #follow(signal: AbortSignal): Promise<void> {
    let retry = FIRST_RETRY;
    while (!signal.aborted && !this.#state.film?.ended) {
      try {
        const film = await this.#next(this.#state.film, signal);
        if (signal.aborted) return;
        this.#set({ film, isLive: !film.ended, error: null });
        retry = FIRST_RETRY;
        await delay(PACE, signal);
      } catch (error) {
        if (signal.aborted) return;
        const isOver = isFinal(error);
        this.#set({ ...this.#state, isLive: !isOver, error: error as Error });
        if (isOver) return;
        await delay(retry, signal).catch(() => {});
        retry = Math.min(retry * 2, LAST_RETRY);
      }
    }
  }

  async #next(film: Film | null, signal: AbortSignal): Promise<Film> {
    if (!film) return loadFilm(this.#server, this.#run, signal);
    const growth = await json<DocumentGrowth | null>(
      this.#server,
      addressOf(this.#server, this.#run, film.last),
      'GET',
      undefined,
      signal,
    );
    if (!growth) return film;
    // What does not go on from our film belongs to another one: that is read whole.
    return goesOn(film, growth) ? grow(film, growth) : loadFilm(this.#server, this.#run, signal);
  }

  #set(state: FilmState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function addressOf(server: Server, run: string, after?: number): string {
  return address(server, ['api', 'runs', run, 'film'], { after });
}

/** Tell what will not get better by itself: the run is not there, not for this user, or not readable. */
function isFinal(error: unknown): boolean {
  return error instanceof UnreadableFilm || (error instanceof PrismError && error.status >= 400 && error.status < 500);
}

/** Read a document. Throw `UnreadableFilm` for what is none, or is newer than this client. */
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
  if (!goesOn(film, growth)) {
    throw new UnreadableFilm(
      `The update starts after event ${growth.after}, but the loaded run ends at event ${film.last}.`,
    );
  }
  const kinds = Object.keys(growth.items) as (keyof Items)[];
  const items = Object.fromEntries(
    kinds.map((kind) => [kind, merge(film.items[kind] ?? [], growth.items[kind] ?? [])]),
  );
  return {
    ...film,
    last: growth.last,
    ended: growth.ended,
    times: film.times.concat(growth.times),
    items: { ...film.items, ...items } as Items,
  };
}

function goesOn(film: Film, growth: DocumentGrowth): boolean {
  return growth.run === film.run && growth.after === film.last;
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

/**
 * Return the film as it was at a cursor: the items and marks that are not past it. Text that ADK did not store is at
 * none.
 */
export function filmAt(film: Film, cursor: number): Film {
  const past = (items: readonly Item<unknown, unknown>[]): Item<unknown, unknown>[] =>
    items
      .filter(({ since, marks }) => since <= cursor && !isReplaced(marks))
      .map((item) => ({ ...item, marks: item.marks.filter(([at]) => at <= cursor) }));
  const items: unknown = Object.fromEntries(Object.entries(film.items).map(([kind, each]) => [kind, past(each)]));
  const ended = film.ended && film.ended.cursor <= cursor ? film.ended : null;
  return {
    ...film,
    last: Math.min(cursor, film.last),
    ended,
    times: film.times.slice(0, cursor),
    items: items as Items,
  };
}

/** Tell whether marks say that ADK did not store the item: it is shown at no cursor. */
export function isReplaced(marks: readonly Mark<unknown>[]): boolean {
  const news = marks.at(-1)?.[1];
  return typeof news === 'object' && news !== null && (news as { replaced?: unknown }).replaced === true;
}
