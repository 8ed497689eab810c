/**
 * Who uses this page, as its server sees it, and the token that says so where one has to be given. A server on
 * somebody's own machine asks nobody, and one behind a proxy that has asked already knows.
 */
import { useSyncExternalStore } from 'react';
import { address, isOurs } from './serverUrl';
import { problemOf } from './problem';

export type Identity =
  | { kind: 'unknown' }
  /** The server let us in; without a name it asks nobody who it is. */
  | { kind: 'known'; user: string | null }
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

export const useIdentity = (): Identity => useSyncExternalStore(subscribe, () => identity);

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
  const left = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));
  return Promise.race([ask(), left]);
}

/** Ask the person to sign in; return whether that happened, once it is known. */
export function ask(): Promise<boolean> {
  if (!answer) {
    let resolve: (isSignedIn: boolean) => void = () => undefined;
    const promise = new Promise<boolean>((told) => (resolve = told));
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
  let user: string | null = null;
  try {
    const response = await call(address('api/me'));
    if (response.status === 401) return; // The person would rather not say.
    if (response.ok) user = await userOf(response);
  } catch {
    // It cannot be reached: whatever is asked for next says so.
  }
  set({ kind: 'known', user });
}

/** Sign in with a token; throw a `Problem` where the server does not take it. */
export async function signIn(given: string, stay: boolean): Promise<void> {
  const response = await fetch(address('api/me'), bearing(given, {}));
  if (!response.ok) throw await problemOf(response);
  const user = await userOf(response);
  const before = identity.kind === 'asking' ? identity.before : null;
  token = given;
  remember(given, stay);
  // What is on the screen is somebody else's.
  if (before !== null && before !== user) location.reload();
  set({ kind: 'known', user });
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

async function userOf(response: Response): Promise<string | null> {
  const { user } = (await response.json()) as { user?: unknown };
  return typeof user === 'string' ? user : null;
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
