/** The film of a run in a component: loaded once, and grown while the run goes on. */
import { useEffect, useMemo, useState } from 'react';
import { path } from '../app/serverUrl';
import { explain, Problem } from '../app/problem';
import { getJson } from '../app/request';
import type { DocumentGrowth } from './document';
import { grow, readFilm, UnreadableFilm, type Film } from './film';
import { shared } from './sharedFile';

export type FilmState = { film: Film | null; live: boolean; error: string | null };

const NOTHING: FilmState = { film: null, live: false, error: null };
/** Growth is taken in at most so often: more than the eye sees costs, and shows nothing. */
const PACE_MS = 120;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

export function useFilm(run: string | null): FilmState {
  const [loaded, setLoaded] = useState<{ run: string | null; state: FilmState }>({ run: null, state: NOTHING });
  useEffect(() => {
    if (!run || shared()) return;
    const leaving = new AbortController();
    void follow(run, leaving.signal, (state) => setLoaded({ run, state }));
    return () => leaving.abort();
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
    void Promise.allSettled(runs.map((run) => next(run, null, leaving.signal))).then((found) => {
      if (!leaving.signal.aborted) setLoaded({ runs, films: found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])) });
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

/** Load a film and tell of every growth, until the run is over or nobody looks. A lost connection is tried again. */
async function follow(run: string, signal: AbortSignal, tell: (state: FilmState) => void): Promise<void> {
  let film: Film | null = null;
  let retry = FIRST_RETRY_MS;
  while (!signal.aborted && !film?.ended) {
    try {
      film = await next(run, film, signal);
      if (signal.aborted) return;
      tell({ film, live: !film.ended, error: null });
      retry = FIRST_RETRY_MS;
      if (!film.ended) await pause(PACE_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnreadableFilm && film) {
        film = null; // Not the film that we have: read it whole.
        continue;
      }
      tell({ film, live: false, error: explain(error) });
      if (isFinal(error)) return;
      await pause(retry, signal);
      retry = Math.min(retry * 2, LAST_RETRY_MS);
    }
  }
}

async function next(run: string, film: Film | null, signal: AbortSignal): Promise<Film> {
  const address = `${path('api', 'runs', run)}/film`;
  if (!film) return readFilm(await getJson(address, signal));
  const growth = await getJson<DocumentGrowth | null>(`${address}?after=${film.last}`, signal);
  return growth ? grow(film, growth) : film;
}

/** Tell what will not get better by itself: the run is not there, or not for this page. */
function isFinal(error: unknown): boolean {
  return error instanceof UnreadableFilm || (error instanceof Problem && error.status >= 400 && error.status < 500);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
