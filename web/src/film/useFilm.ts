/** The film of a run in a component: loaded once, and grown while the run goes on. */
import { FilmStore, loadFilm, readFilm, type Film } from '@adk-prism/client/film';
import { useEffect, useMemo, useState } from 'react';
import { explain, SERVER } from '../app/server';
import { shared } from './sharedFile';

export type FilmState = { film: Film | null; live: boolean; error: string | null };

const NOTHING: FilmState = { film: null, live: false, error: null };

export function useFilm(run: string | null): FilmState {
  const [loaded, setLoaded] = useState<{ run: string | null; state: FilmState }>({ run: null, state: NOTHING });
  useEffect(() => {
    if (!run || shared()) return;
    const store = new FilmStore(SERVER, run);
    return store.subscribe(() => {
      const { film, isLive, error } = store.getState();
      setLoaded({ run, state: { film, live: isLive && !error, error: error && explain(error) } });
    });
  }, [run]);
  // Until the next run's film is there, the last one stays: a picture that flickers tells nothing.
  const before = useMemo<FilmState>(() => ({ film: loaded.state.film, live: true, error: null }), [loaded]);
  const embedded = shared();
  if (embedded) return embeddedFilm(embedded.film);
  if (loaded.run === run) return loaded.state;
  return run !== null && before.film ? before : NOTHING;
}

const NO_FILMS: readonly Film[] = [];

/** Return the films of runs that are over; none while they are on their way. One that cannot be read is left out. */
export function useFilms(runs: readonly string[]): readonly Film[] {
  const [loaded, setLoaded] = useState<{ runs: readonly string[]; films: readonly Film[] }>({ runs: [], films: [] });
  useEffect(() => {
    if (!runs.length) return;
    const leaving = new AbortController();
    void Promise.allSettled(runs.map((run) => loadFilm(SERVER, run, leaving.signal))).then((found) => {
      if (!leaving.signal.aborted)
        setLoaded({ runs, films: found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])) });
    });
    return () => leaving.abort();
  }, [runs]);
  return loaded.runs === runs ? loaded.films : NO_FILMS;
}

let read: { of: Film; state: FilmState } | null = null;

function embeddedFilm(document: Film): FilmState {
  if (read?.of !== document) read = { of: document, state: reading(document) };
  return read.state;
}

function reading(document: Film): FilmState {
  try {
    return { film: readFilm(document), live: false, error: null };
  } catch (error) {
    return { film: null, live: false, error: explain(error) };
  }
}
