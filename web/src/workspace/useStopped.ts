/** Which messages of a chat were stopped: a message does not say it itself, its run does. */
import { useEffect, useState } from 'react';
import { getJson } from '../app/request';
import type { Where } from '../chat/requests';

type ListedRun = { message: string; outcome: string | null };

const NONE: ReadonlySet<string> = new Set();

/** Return the ids of messages whose last run was stopped; `count` is how many messages there are while nothing runs, else 0. */
export function useStopped({ app, user, session }: Where, count: number): ReadonlySet<string> {
  const [stopped, setStopped] = useState(NONE);
  useEffect(() => {
    if (count === 0) return;
    const leaving = new AbortController();
    getJson<ListedRun[]>(`api/runs?${new URLSearchParams({ app, user, session })}`, leaving.signal).then(
      (runs) => {
        const last = new Map(runs.map(({ message, outcome }) => [message, outcome]));
        setStopped(new Set([...last].flatMap(([message, outcome]) => (outcome === 'cancelled' ? [message] : []))));
      },
      () => {}, // Not told, then: whatever is asked of the server next says what is wrong.
    );
    return () => leaving.abort();
  }, [app, user, session, count]);
  return stopped;
}
