/** The page's own server: its addresses, requests to it, what it refuses, and who uses the page as it sees it. */
import { useSyncExternalStore, useEffect, useState } from 'react';
import { PrismError as Problem, refusal as problemOf, json, request, type Server } from '@adk-prism/client';

/** Addresses of the server, relative to where the page itself lies: the same build works under any path prefix. */
const BASE = new URL('./', document.baseURI.split('#')[0]);

/** Return the absolute address of a route, given without its first slash: `api/runs`. */
export function address(path: string): string {
  return new URL(path, BASE).href;
}

/** Tell whether an absolute address is one of this server's. */
export function isOurs(at: string): boolean {
  return at.startsWith(BASE.href);
}

/** Return the path and query of an address of ours, as the server sees them whatever prefix it is under. */
export function routeOf(at: string): string {
  return at.slice(BASE.href.length - 1);
}

/** Return a path of pieces, each encoded: `path('api', 'chat', app)`. */
export function path(...pieces: string[]): string {
  return pieces.map(encodeURIComponent).join('/');
}

// JSON over HTTP from the page's own server, and from nowhere else.

/** The server of this page, asked as whoever is signed in. */
export const SERVER: Server = { server: address(''), fetch: call };

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return json<T>(SERVER, address(path), 'GET', undefined, signal);
}

/** Send bytes as they are. */
export async function postBytes<T>(path: string, body: Blob): Promise<T> {
  const headers = { 'content-type': 'application/octet-stream' };
  return (await request(SERVER, address(path), { method: 'POST', headers, body })).json() as T;
}

export async function postJson<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return json<T>(SERVER, address(path), 'POST', body, signal);
}

/** What the server says when it refuses (application/problem+json), as an error to show. */
export { Problem, problemOf };

/** How browsers and bundlers call a request that got no answer, and code that could not be loaded. */
const UNREACHED = /failed to fetch|load failed|network|import|preload/i;

export function isUnreached(error: unknown): boolean {
  return error instanceof Error && !(error instanceof Problem) && UNREACHED.test(error.message);
}

/** Say what went wrong, in a sentence, whatever was thrown. */
export function explain(error: unknown): string {
  if (error instanceof Problem) return error.status === 401 ? 'You are not signed in.' : error.message;
  if (isUnreached(error)) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}

// Who uses the page, and the token that says so where one has to be given. A server on somebody's own machine asks
// nobody, and one behind a proxy that has asked already knows.

export type Identity =
  | { kind: 'unknown' }
  /** The server let us in; without a name it asks nobody who it is. The features that it runs, where it tells them. */
  | { kind: 'known'; user: string | null; features: readonly string[] | null }
  /** It has to be told: `before` is who it was until now. */
  | { kind: 'asking'; before: string | null }
  /** The person would rather not say, for now. */
  | { kind: 'declined' };

// Several servers may lie below one origin.
const KEY = `prism:token:${address('')}`;

let token = remembered();
let identity: Identity = { kind: 'unknown' };
/** What calls wait for while the person is asked: whether there is a sign-in to try again with. */
let answer: { promise: Promise<boolean>; resolve: (isSignedIn: boolean) => void } | null = null;
const watchers = new Set<() => void>();

function set(next: Identity): void {
  identity = next;
  for (const notify of watchers) notify();
}

function subscribe(notify: () => void): () => void {
  watchers.add(notify);
  return () => watchers.delete(notify);
}

const getIdentity = (): Identity => identity;

export const useIdentity = (): Identity => useSyncExternalStore(subscribe, getIdentity, getIdentity);

/** Whether this page says who it is by a token, which addresses that a browser opens by itself cannot carry. */
export const hasToken = (): boolean => token !== '';

/** Return whose conversations a new one is among; empty where the server asks nobody. */
export const signedInUser = (): string => (identity.kind === 'known' && identity.user) || '';

/**
 * Ask the server, as `fetch` does and as whoever is signed in. Where it has to know who that is, wait until the person
 * has said so, and ask again: nothing that was under way is lost. The token goes to the page's own server alone.
 */
export async function call(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const used = token;
    const response = await fetch(input, bearing(isOurs(String(input)) ? used : '', init));
    if (response.status !== 401 || !(await isAnswered(used, init.signal))) return response;
  }
}

/** Say who asks, and that problems are read as JSON: under the chat's address they are plain text otherwise. */
function bearing(used: string, init: RequestInit): RequestInit {
  const headers = new Headers(init.headers);
  if (used) headers.set('authorization', `Bearer ${used}`);
  if (!headers.has('accept')) headers.set('accept', 'application/problem+json, */*');
  return { ...init, headers };
}

/** Tell whether it is worth asking again: somebody has signed in since. */
async function isAnswered(used: string, signal?: AbortSignal | null): Promise<boolean> {
  if (used !== token) return true;
  if (identity.kind === 'declined') return false;
  const left = new Promise<never>((_, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );
  return Promise.race([ask(), left]);
}

/** Ask the person to sign in; return whether that happened, once it is known. */
export function ask(): Promise<boolean> {
  if (!answer) {
    let resolve: (isSignedIn: boolean) => void = () => undefined;
    const promise = new Promise<boolean>((settled) => (resolve = settled));
    answer = { promise, resolve };
    set({ kind: 'asking', before: signedInUser() || null });
  }
  return answer.promise;
}

/** Leave it at that: whatever waited is refused. */
export function decline(): void {
  set({ kind: 'declined' });
  settle(false);
}

function settle(isSignedIn: boolean): void {
  answer?.resolve(isSignedIn);
  answer = null;
}

/** Find out who we are; asks the person where the server does not know. */
export async function introduce(): Promise<void> {
  let known: Known = { user: null, features: null };
  try {
    const response = await call(address('api/me'));
    if (response.status === 401) return; // The person would rather not say.
    if (response.ok) known = await whoIsKnown(response);
  } catch {
    // It cannot be reached: whatever is asked for next says so.
  }
  set({ kind: 'known', ...known });
}

/** Sign in with a token; throw a `Problem` where the server does not take it. */
export async function signIn(given: string, stay: boolean): Promise<void> {
  const response = await fetch(address('api/me'), bearing(given, {}));
  if (!response.ok) throw await problemOf(response);
  const known = await whoIsKnown(response);
  const before = identity.kind === 'asking' ? identity.before : null;
  token = given;
  remember(given, stay);
  // What is on the screen is somebody else's.
  if (before !== null && before !== known.user) location.reload();
  set({ kind: 'known', ...known });
  settle(true);
}

/** Forget the token, and what its user typed and did not send. */
export function signOut(): void {
  const user = signedInUser();
  remember('', false);
  for (const key of drafts()) if (key.includes(`/${user}/`)) localStorage.removeItem(key);
  location.hash = '#/';
  location.reload();
}

type Known = { user: string | null; features: readonly string[] | null };

async function whoIsKnown(response: Response): Promise<Known> {
  const { user, features } = (await response.json()) as { user?: unknown; features?: string[] };
  return { user: typeof user === 'string' ? user : null, features: features ?? null };
}

// --- what a browser keeps; it may be told to keep nothing

function remembered(): string {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

function remember(given: string, stay: boolean): void {
  try {
    sessionStorage.removeItem(KEY);
    localStorage.removeItem(KEY);
    if (given) (stay ? localStorage : sessionStorage).setItem(KEY, given);
  } catch {
    // It lives as long as the page, then.
  }
}

function drafts(): string[] {
  try {
    return Object.keys(localStorage).filter((key) => /^prism:(draft|unsent):/.test(key));
  } catch {
    return [];
  }
}

// Addresses that a browser opens by itself, for sockets and downloads: those can carry no token, but a ticket.

/** Return an address of ours that can be opened as it is, once and soon. */
export async function ticketed(at: string): Promise<string> {
  if (!hasToken()) return at;
  const { ticket } = await postJson<{ ticket: string }>('api/tickets', { url: routeOf(at) });
  const opened = new URL(at);
  opened.searchParams.set('ticket', ticket);
  return opened.href;
}

// Pictures and sounds of this server, for elements that can send no token: fetched here, and handed on as they are.

/** Return an address that an element can load; empty until there is one. */
export function useAuthorizedUrl(at: string, onError: () => void): string {
  const isFetched = hasToken() && isOurs(at);
  const [loaded, setLoaded] = useState('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new handler of errors is no reason to fetch again
  useEffect(() => {
    if (!isFetched) return;
    const leaving = new AbortController();
    let made = '';
    fetchFile(at, leaving.signal).then(
      (file) => {
        if (!leaving.signal.aborted) setLoaded((made = URL.createObjectURL(file)));
      },
      () => leaving.signal.aborted || onError(),
    );
    return () => {
      leaving.abort();
      URL.revokeObjectURL(made);
    };
  }, [at, isFetched]);
  return isFetched ? loaded : at;
}

async function fetchFile(at: string, signal: AbortSignal): Promise<Blob> {
  const response = await call(at, { signal });
  if (!response.ok) throw await problemOf(response);
  return response.blob();
}
