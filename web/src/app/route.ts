/**
 * Where the user is. The address bar is the whole state, so a copied link shows the same moment:
 *
 *     #/                                             home
 *     #/search?text=refund&outcome=failed            runs that fit
 *     #/app/tour/s-1?panel=state                     a chat, with the panels of its last run
 *     #/run/r-1?at=14&panel=graph&sel=burn_analyst   one run at one cursor
 *     #/evals/tour?run=r-1                           eval sets of an app; with a run that is added to one
 *     #/compare/r-1/r-2                              two runs side by side; without the second: which one
 *
 * Keys that are not known here are options of panels; they are kept.
 */
import { useCallback, useSyncExternalStore } from 'react';

export type Place =
  | { kind: 'home' }
  | { kind: 'search' }
  | { kind: 'chat'; app: string; session: string }
  | { kind: 'run'; run: string }
  | { kind: 'evals'; app: string }
  | { kind: 'compare'; a: string; b: string | null };

export type Route = {
  place: Place;
  /** The playhead; null is the end, which moves while a run is live. */
  at: number | null;
  panel: string | null;
  selected: string | null;
  options: Readonly<Record<string, string>>;
};

export const HOME: Route = { place: { kind: 'home' }, at: null, panel: null, selected: null, options: {} };

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const options: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(query)) options[key] = value;
  const { at, panel, sel, ...rest } = options;
  return {
    place: parsePlace(path.split('/').filter(Boolean).map(decoded)),
    at: at !== undefined && /^\d{1,15}$/.test(at) ? Number(at) : null,
    panel: panel || null,
    selected: sel || null,
    options: rest,
  };
}

function parsePlace([kind, first, second]: string[]): Place {
  if (kind === 'app' && first && second) return { kind: 'chat', app: first, session: second };
  if (kind === 'search') return { kind: 'search' };
  if (kind === 'run' && first) return { kind: 'run', run: first };
  if (kind === 'evals' && first) return { kind: 'evals', app: first };
  if (kind === 'compare' && first) return { kind: 'compare', a: first, b: second ?? null };
  return { kind: 'home' };
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece; // A stray percent sign: the name is what was typed.
  }
}

export function formatRoute({ place, at, panel, selected, options }: Route): string {
  const query = new URLSearchParams();
  if (at !== null) query.set('at', String(at));
  if (panel) query.set('panel', panel);
  if (selected) query.set('sel', selected);
  for (const [key, value] of Object.entries(options)) if (value) query.set(key, value);
  const text = query.toString();
  return `#/${formatPlace(place)}${text ? `?${text}` : ''}`;
}

function formatPlace(place: Place): string {
  switch (place.kind) {
    case 'home':
      return '';
    case 'search':
      return 'search';
    case 'chat':
      return `app/${encodeURIComponent(place.app)}/${encodeURIComponent(place.session)}`;
    case 'run':
      return `run/${encodeURIComponent(place.run)}`;
    case 'evals':
      return `evals/${encodeURIComponent(place.app)}`;
    case 'compare':
      return ['compare', place.a, ...(place.b === null ? [] : [place.b])].map(encodeURIComponent).join('/');
  }
}

/** Return the address of a place at its end, with nothing selected. */
export function linkTo(place: Place, panel: string | null = null): string {
  return formatRoute({ ...HOME, place, panel });
}

// Scrubbing and playing move many times a second, and browsers ignore an address that changes too often (Chromium: 200
// times in 10 s). So the route is here, at once, and the address follows when it rests.
const MOVED = 'prism:moved';
const RESTED_MS = 100;
let unwritten: string | null = null;
let writing = 0;

export function go(route: Route, how: 'push' | 'replace' = 'push'): void {
  const hash = formatRoute(route);
  if (hash === currentHash()) return;
  if (how === 'push') {
    write();
    history.pushState(null, '', hash);
  } else {
    unwritten = hash;
    clearTimeout(writing);
    writing = window.setTimeout(write, RESTED_MS);
  }
  dispatchEvent(new Event(MOVED));
}

/** Bring the address bar up to date. */
function write(): void {
  clearTimeout(writing);
  if (unwritten !== null) history.replaceState(null, '', unwritten);
  unwritten = null;
}

function currentHash(): string {
  return unwritten ?? location.hash;
}

function subscribe(notify: () => void): () => void {
  // Somebody else changed the address: that is where the user is now.
  const arrive = () => {
    clearTimeout(writing);
    unwritten = null;
    notify();
  };
  for (const name of ['hashchange', 'popstate']) addEventListener(name, arrive);
  addEventListener(MOVED, notify);
  return () => {
    for (const name of ['hashchange', 'popstate']) removeEventListener(name, arrive);
    removeEventListener(MOVED, notify);
  };
}

let last: { hash: string; route: Route } = { hash: '', route: HOME };

/** Return the route: one object per address, so that it can be compared. */
export function currentRoute(): Route {
  const hash = currentHash();
  if (hash !== last.hash) last = { hash, route: parseRoute(hash) };
  return last.route;
}

export type Move = (change: Partial<Route>, how?: 'push' | 'replace') => void;

/** Return the current route and a function that changes parts of it. */
export function useRoute(): [Route, Move] {
  const route = useSyncExternalStore(subscribe, currentRoute);
  const move = useCallback<Move>((change, how) => go({ ...currentRoute(), ...change }, how), []);
  return [route, move];
}
