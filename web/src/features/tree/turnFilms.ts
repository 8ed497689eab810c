/** The films of a conversation's messages: the one that is shown is given, others are loaded when they are opened. */
import { loadFilm } from '@adk-prism/client/film';
import { useEffect, useMemo, useRef, useState } from 'react';
import { SERVER } from '../../app/server';
import type { Film } from '../../film/film';
import { joinFilms } from '../../film/joined';
import { shared } from '../../film/sharedFile';
import type { Turn } from './rows';

/** Return the films of turns by their message: of those that are wanted, as they arrive. */
export function useTurnFilms(
  turns: readonly Turn[],
  shown: { message: string; film: Film },
  isWanted: (turn: Turn, index: number) => boolean,
): ReadonlyMap<string, Film> {
  const [loaded, setLoaded] = useState<ReadonlyMap<string, Film>>(new Map());
  const asked = useRef(new Set<string>());
  const missing = turns.filter(
    (turn, index) => turn.message !== shown.message && !loaded.has(turn.message) && isWanted(turn, index),
  );
  const names = missing.map(({ message }) => message).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names say what is missing
  useEffect(() => {
    if (shared()) return;
    for (const turn of missing) {
      if (asked.current.has(turn.message)) continue;
      asked.current.add(turn.message);
      void Promise.all(turn.runs.map((run) => loadFilm(SERVER, run))).then(
        (films) => setLoaded((all) => new Map(all).set(turn.message, joinFilms(films))),
        () => asked.current.delete(turn.message), // It is asked for again when it is opened again.
      );
    }
  }, [names]);
  return useMemo(() => new Map(loaded).set(shown.message, shown.film), [loaded, shown.message, shown.film]);
}
