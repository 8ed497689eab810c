/** Hooks for React: a Studio trace, the film of a run, and suggestions. `useLive` is in `/live`, which needs the AI SDK, too. */
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { address, type Connection } from './connection.ts';
import { FilmStore, type FilmState } from './film.ts';
import { loadSuggestions, type Suggestions } from './suggestions.ts';
import { createUseSSE, type StudioOptions, type UseSSEReturn } from './studio-client.ts';

export * from './index.ts';

const useSSE = createUseSSE({ useState, useEffect, useSyncExternalStore });

const NO_FILM: FilmState = { film: null, isLive: false, error: null };
const never = () => () => {};
const noFilm = () => NO_FILM;

/**
 * A run as a Studio trace: `text`, `snapshots`, `currentSnapshotIndex`, `stateKeys`, `toolCalls`, `interrupts` and
 * more, with
 * `send`, `answer`, `seek` and `cancel`. Hand over the graph of `loadGraph` to have the keys by edge. A component
 * keeps its first connection; with another `key` it gets another one.
 */
export function useStudio(
  { server, app, userId, fetch, headers }: StudioConnection,
  options: StudioOptions = {},
): UseSSEReturn {
  const given = { ...(userId && { userId }), ...(fetch && { fetch }), ...(headers && { headers }) };
  return useSSE(address({ server }, ['api', 'studio', app]), { ...given, ...options });
}

/** A connection whose headers are known. */
export type StudioConnection = Omit<Connection, 'headers'> & { headers?: Record<string, string> };

/** The film of a run, followed while the component is there; none without a run. */
export function useFilm(connection: Connection, runId: string | null | undefined): FilmState {
  const { server, app } = connection;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a connection is often a new object with every render
  const store = useMemo(() => (runId ? new FilmStore(connection, runId) : null), [server, app, runId]);
  return useSyncExternalStore(store?.subscribe ?? never, store?.getState ?? noFilm, noFilm);
}

const NO_SUGGESTIONS: readonly string[] = [];

/**
 * What the person may say next. `answerId`: the last answer, once it is finished; without it there are none, so that
 * those of an earlier answer go with the next message. Where the server cannot be asked, there are none either.
 */
export function useSuggestions(
  connection: Connection,
  chatId: string,
  answerId: string | null | undefined,
): readonly string[] {
  const { server, app, userId } = connection;
  const [found, setFound] = useState<Suggestions | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a connection is often a new object with every render
  useEffect(() => {
    if (!answerId) return;
    const leaving = new AbortController();
    loadSuggestions(connection, chatId, leaving.signal).then(setFound, () => undefined);
    return () => leaving.abort();
  }, [server, app, userId, chatId, answerId]);
  return answerId && found?.messageId === answerId ? found.suggestions : NO_SUGGESTIONS;
}
