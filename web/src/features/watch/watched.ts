/** What a conversation does with the code that was saved last, as the server finds out after each save. */
import { useEffect, useState } from 'react';
import { getJson, path, Problem } from '../../app/server';
import type { Where } from '../../chat/transport';

export type ChangedPart = { part: string; before: string; after: string };

export type Difference = {
  agent: string;
  /** Its number among the agent's calls, from 1. */
  call: number;
  status: 'changed' | 'unknown' | 'lost' | 'over';
  parts?: ChangedPart[];
  /** Parts that differ, too, and are not listed. */
  more?: number;
  /** What to ignore so that nothing differs: a clock, an id. */
  rules?: string[];
  detail: string;
};

export type CheckedMessage = {
  /** Its first run. */
  run: string;
  status: 'same' | 'differs' | 'failed';
  /** Model calls that were as recorded. */
  calls?: number;
  difference?: Difference;
  differs?: string[];
  follows?: ChangedPart[];
  detail?: string;
};

export type Checked = {
  number: number;
  state: 'off' | 'unchanged' | 'checking' | 'same' | 'differs' | 'failed' | 'broken';
  detail?: string;
  conversation?: { messages: CheckedMessage[]; seconds: number; skipped?: number };
};

/** Milliseconds after a request that got no answer, and at most, since each further one waits longer. */
const FIRST_RETRY = 1_000;
const LAST_RETRY = 30_000;
/** Milliseconds between two requests while the page is hidden. A request that waits would take one of the few
 * connections that a browser has for a server; without any, the server would stop watching. */
const HIDDEN = 45_000;

/** Return what is known of a conversation; null before the first answer. */
export function useWatched({ app, user, session }: Where, ignored: readonly string[]): Checked | null {
  const [checked, setChecked] = useState<Checked | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    void watch({ app, user, session }, ignored, leaving.signal, setChecked);
    return () => leaving.abort();
  }, [app, user, session, ignored]);
  return checked;
}

async function watch(
  where: Where,
  ignored: readonly string[],
  signal: AbortSignal,
  tell: (next: Checked) => void,
): Promise<void> {
  let [known, retry] = [-1, FIRST_RETRY];
  while (!signal.aborted) {
    const isHidden = document.visibilityState === 'hidden';
    const query = new URLSearchParams({ after: String(isHidden ? -1 : known), userId: where.user });
    for (const rule of ignored) query.append('ignore', rule);
    try {
      const at = `${path('api', 'watch', where.app, where.session)}?${query}`;
      const next = await getJson<Checked>(at, signal);
      if (next.number !== known) tell(next);
      if (next.state === 'off') return;
      [known, retry] = [next.number, FIRST_RETRY];
      if (isHidden) await pause(HIDDEN, signal);
    } catch (error) {
      if (signal.aborted || (error instanceof Problem && error.status < 500)) return;
      await pause(retry, signal);
      retry = Math.min(2 * retry, LAST_RETRY);
    }
  }
}

/** Wait; until the page comes into view, at most. */
async function pause(time: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, time);
    const done = () => resolve();
    signal.addEventListener('abort', done, { once: true, signal: over.signal });
    document.addEventListener('visibilitychange', done, { signal: over.signal });
    over.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
  over.abort();
}
