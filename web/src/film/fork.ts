/** A new session that goes on from a moment of a run, with another message or changed state. It calls the model. */
import { go, HOME } from '../app/route';
import { path, postJson } from '../app/server';
import { isImported, type Film } from './film';
import { placeOf } from './joined';
import { shared } from './sharedFile';

type Forked = { run: string; app: string; user: string; session: string; goesOn?: string };

/** Say why a run cannot be forked; null if it can. */
export function whyNoFork(film: Film, live: boolean): string | null {
  if (shared()) return 'This is a shared file: forking needs a server that runs the agent.';
  if (isImported(film)) return 'This run was recorded elsewhere. Continue it in a chat, and fork there.';
  if (live) return 'The run is still in progress.';
  return null;
}

/** Fork at a cursor and open the new conversation. Throw a `Problem` where the server refuses. */
export async function forkAndOpen(
  film: Film,
  at: number,
  message: string,
  change: object = {},
  panel: string | null = null,
): Promise<void> {
  const { run, cursor } = placeOf(film, at);
  const made = await postJson<Forked>(`${path('api', 'runs', run)}/fork`, {
    at: cursor,
    ...(message.trim() ? { newMessage: { role: 'user', parts: [{ text: message }] } } : {}),
    ...change,
  });
  // Where nothing was left to do, the new run is the change of the state, and no message.
  const options = { user: made.user === 'user' ? '' : made.user, changed: made.goesOn === 'nothing' ? made.run : '' };
  go({ ...HOME, place: { kind: 'chat', app: made.app, session: made.session }, panel, options });
}
