/** Where an app is served, as whom to ask, and requests that fail with a sentence. */
import { ConnectionError, notWanted, refusal } from './errors.ts';

export type Resolvable<Value> = Value | (() => Value | Promise<Value>);

export type Server = {
  /** The server's URL, with the path prefix it is served under, if any. `''`: the page's own origin. */
  server: string;
  /** Sent with every request. A function is called each time, so a token may be refreshed. */
  headers?: Resolvable<HeadersInit | undefined>;
  credentials?: RequestCredentials;
  fetch?: typeof globalThis.fetch;
};

/** An app of a server, as somebody uses it. */
export type Connection = Server & {
  app: string;
  /** The user. Ignored by servers with authentication: there it is the caller. Default: `user`. */
  userId?: string;
};

/** Statuses of a server, or of a proxy before it, that is away for a moment. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Milliseconds before each further attempt to send. */
const PAUSES = [300, 1000];

type Query = Readonly<Record<string, string | number | undefined>>;

/** Return the address of a route: its segments are encoded, and parameters without a value left out. */
export function address({ server }: Pick<Server, 'server'>, segments: readonly string[], query: Query = {}): string {
  const path = segments.map(encodeURIComponent).join('/');
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `${server.replace(/\/+$/, '')}/${path}${search && `?${search}`}`;
}

/** Send a request. Throw `PrismError` for a refusal, `ConnectionError` where nobody answers. */
export async function request(connection: Server, url: string, init: RequestInit = {}): Promise<Response> {
  const { headers: own, credentials, fetch = globalThis.fetch } = connection;
  const headers = new Headers(typeof own === 'function' ? await own() : own);
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  let response: Response;
  try {
    response = await fetch(url, { ...init, headers, ...(credentials && { credentials }) });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ConnectionError(url, error);
  }
  if (!response.ok) throw await refusal(response, url);
  return response;
}

/** Send a request that may be sent again: to read something, or with an idempotency key. */
export async function requestAgain(connection: Server, url: string, init: RequestInit = {}): Promise<Response> {
  for (const pause of PAUSES) {
    try {
      return await request(connection, url, init);
    } catch (error) {
      if (!isAway(error)) throw error;
      await delay(pause, init.signal);
    }
  }
  return request(connection, url, init);
}

/** Tell a server that cannot be reached now from one that says no. */
export function isAway(error: unknown): boolean {
  return error instanceof ConnectionError || AWAY.has((error as { status?: number } | null)?.status ?? 0);
}

/** Wait; throw the signal's reason if it is aborted meanwhile. */
export function delay(milliseconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

export const JSON_BODY = { accept: 'application/json, application/problem+json', 'content-type': 'application/json' };

/** Send a request whose answer is JSON, and return it; null where there is none. */
export async function json<Value>(
  connection: Server,
  url: string,
  method = 'GET',
  body?: unknown,
  signal?: AbortSignal,
): Promise<Value> {
  const init = {
    method,
    headers: JSON_BODY,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
  const response = await (method === 'GET' ? requestAgain : request)(connection, url, init);
  if (response.status === 204) return null as Value;
  if (!response.headers.get('content-type')?.includes('json')) throw notWanted(response, url, 'JSON');
  return (await response.json()) as Value;
}

/** Return a text that nobody else has. `crypto.randomUUID` exists on secure pages only. */
export function uniqueKey(): string {
  if (!('crypto' in globalThis))
    throw new Error('This Node is too old for @adk-prism/client, which needs 20.19 or newer.');
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
