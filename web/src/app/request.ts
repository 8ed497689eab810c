/** JSON over HTTP from the page's own server, and from nowhere else. */
import { address } from './serverUrl';
import { call } from './identity';
import { problemOf } from './problem';

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, { signal });
}

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  return send<T>(path, { method: 'POST', headers, body: JSON.stringify(body), signal });
}

export async function send<T>(path: string, init: RequestInit): Promise<T> {
  const response = await call(address(path), init);
  if (!response.ok) throw await problemOf(response);
  return (response.status === 204 ? null : await response.json()) as T;
}
