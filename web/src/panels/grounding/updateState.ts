/** A state-only update: the session's state changes, and no model is called. */
import { address } from '../../app/serverUrl';
import { call } from '../../app/identity';
import { problemOf } from '../../app/problem';
import { isImported } from '../../film/isImported';
import type { Film } from '../../film/film';
import { PREFIX } from '../../film/grounding';
import { shared } from '../../film/sharedFile';
import * as words from '../../words/grounding';

const RUN_HEADER = 'x-prism-run';

/** Write values into the box; return the run that did. Throw a `Problem` where the server refuses. */
export async function updateBox(film: Film, values: Record<string, unknown>): Promise<string | null> {
  const response = await call(address('run'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      appName: film.app,
      userId: film.user,
      sessionId: film.session,
      newMessage: { role: 'system', parts: [] },
      stateDelta: boxDelta(values),
    }),
  });
  if (!response.ok) throw await problemOf(response);
  await response.text();
  return response.headers.get(RUN_HEADER);
}

export function boxDelta(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [PREFIX + name, value]));
}

/** Say why the box cannot be written here; null if it can. */
export function whyReadOnly(film: Film, at: number, live: boolean): string | null {
  if (shared()) return words.sharedFileItIsRead;
  if (isImported(film)) return words.runWasRecordedOnAnother;
  if (at < film.last) return words.viewingThePastReturn;
  if (live) return words.agentIsRunningWaitUntil;
  return null;
}
