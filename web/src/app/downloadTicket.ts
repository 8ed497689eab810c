/** Addresses that a browser opens by itself, for sockets and downloads: those can carry no token, but a ticket. */
import { routeOf } from './serverUrl';
import { hasToken } from './identity';
import { postJson } from './request';

/** Return an address of ours that can be opened as it is, once and soon. */
export async function ticketed(at: string): Promise<string> {
  if (!hasToken()) return at;
  const { ticket } = await postJson<{ ticket: string }>('api/tickets', { url: routeOf(at) });
  const opened = new URL(at);
  opened.searchParams.set('ticket', ticket);
  return opened.href;
}
