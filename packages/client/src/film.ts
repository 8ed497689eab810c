/** The film of a run: all that its panels show, at any moment, loaded once and grown while the run goes on. */
import { address, delay, isAway, json, type Connection } from './connection.ts';
import { VERSION, type Document, type DocumentGrowth, type Growth, type Item, type Items, type Mark } from './film-document.ts';

export type { Document as Film } from './film-document.ts';

export type FilmState = {
  film: Document | null;
  /** The run goes on, and the film with it. */
  isLive: boolean;
  /** Why the film, or what follows, is not there. */
  error: Error | null;
};

/** Milliseconds between two looks at a film that grows: more than the eye sees costs, and shows nothing. */
const PACE = 120;
const FIRST_RETRY = 500;
const LAST_RETRY = 15_000;

/** Follows one run's film. Each state is a new object, as `useSyncExternalStore` wants it. */
export class FilmStore {
  readonly #connection: Connection;
  readonly #run: string;
  readonly #listeners = new Set<() => void>();
  #state: FilmState = { film: null, isLive: true, error: null };
  #watching: AbortController | null = null;

  constructor(connection: Connection, runId: string) {
    this.#connection = connection;
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
        const film = await this.#next(this.#state.film);
        if (signal.aborted) return;
        this.#set({ film, isLive: !film.ended, error: null });
        retry = FIRST_RETRY;
        await delay(PACE, signal);
      } catch (error) {
        if (signal.aborted) return;
        const isOver = !isAway(error);
        this.#set({ ...this.#state, isLive: !isOver, error: error as Error });
        if (isOver) return;
        await delay(retry, signal).catch(() => {});
        retry = Math.min(retry * 2, LAST_RETRY);
      }
    }
  }

  async #next(film: Document | null): Promise<Document> {
    const route = ['api', 'runs', this.#run, 'film'];
    if (!film) return readable(await json<Document>(this.#connection, address(this.#connection, route)));
    const growth = await json<DocumentGrowth | null>(this.#connection, address(this.#connection, route, { after: film.last }));
    return growth ? grow(film, growth) : film;
  }

  #set(state: FilmState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function readable(film: Document): Document {
  if (film.version > VERSION) throw new Error(`The server's films have version ${film.version}; this client reads up to ${VERSION}. Update @adk-prism/client.`);
  return film;
}

/** Return a film and what came after its end. */
function grow(film: Document, growth: DocumentGrowth): Document {
  const kinds = Object.keys(growth.items) as (keyof Items)[];
  const items = Object.fromEntries(kinds.map((kind) => [kind, merge(film.items[kind] ?? [], growth.items[kind] ?? [])]));
  return { ...film, last: growth.last, ended: growth.ended, times: film.times.concat(growth.times), items: { ...film.items, ...items } as Items };
}

function merge(known: readonly Item<unknown, unknown>[], news: readonly Growth[]): readonly Item<unknown, unknown>[] {
  const items = known.slice();
  for (const item of news) {
    const before = items[item.index];
    items[item.index] = before
      ? { ...before, marks: isReplaced(item.marks) ? item.marks : before.marks.concat(item.marks) }
      : (item as Item<unknown, unknown>);
  }
  return items;
}

/** Return the film as it was at a cursor: the items and marks that are not past it. Text that ADK did not store is at none. */
export function filmAt(film: Document, cursor: number): Document {
  const past = (items: readonly Item<unknown, unknown>[]): Item<unknown, unknown>[] =>
    items
      .filter(({ since, marks }) => since <= cursor && !isReplaced(marks))
      .map((item) => ({ ...item, marks: item.marks.filter(([at]) => at <= cursor) }));
  const items: unknown = Object.fromEntries(Object.entries(film.items).map(([kind, each]) => [kind, past(each)]));
  const ended = film.ended && film.ended.cursor <= cursor ? film.ended : null;
  return { ...film, last: Math.min(cursor, film.last), ended, times: film.times.slice(0, cursor), items: items as Items };
}

function isReplaced(marks: readonly Mark<unknown>[]): boolean {
  const news = marks.at(-1)?.[1];
  return typeof news === 'object' && news !== null && (news as { replaced?: unknown }).replaced === true;
}
