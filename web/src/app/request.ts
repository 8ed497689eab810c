/** JSON over HTTP from the page's own server, and from nowhere else. */
import { json, request, type Server } from '@adk-prism/client';
import { call } from './identity';
import { address } from './serverUrl';

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
