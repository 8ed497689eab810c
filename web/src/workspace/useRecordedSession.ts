/** The session that a recorded run belongs to: its runs, and what was said before this one. */
import { loadMessages } from '@adk-prism/client/ai';
import { useEffect, useState } from 'react';
import { getJson } from '../app/request';
import { connectionOf, type Where } from '../chat/requests';
import type { Message } from '../chat/message';
import { shared } from '../film/sharedFile';

/** The name of a recording's session begins so: it is a name, and no chat. */
export const RECORDING = 'recording-';

type Recorded = { runs: readonly string[]; before: readonly Message[] };
const NONE: Recorded = { runs: [], before: [] };

export function useRecordedSession({ app, user, session }: Where, run: string): Recorded {
  const [found, setFound] = useState<(Recorded & { run: string }) | null>(null);
  const isRecorded = session.startsWith(RECORDING) && !shared();
  useEffect(() => {
    if (!isRecorded) return;
    const leaving = new AbortController();
    const where = { app, user, session };
    const read = async () => {
      const runs = await getJson<{ run: string }[]>(`api/runs?${new URLSearchParams(where)}`, leaving.signal);
      // Before the only run nothing was said; and the app of an uploaded one need not be served here.
      const messages = runs.length > 1 ? await loadMessages<Message>(connectionOf(where), session, leaving.signal) : [];
      setFound({ run, runs: runs.map((one) => one.run), before: saidBefore(messages, run) });
    };
    read().catch(() => {}); // The run is shown alone.
    return () => leaving.abort();
  }, [isRecorded, app, user, session, run]);
  return found?.run === run ? found : NONE;
}

/** Return the messages before a run's own; of a run that still goes on only its question is in the list. */
export function saidBefore(messages: readonly Message[], run: string): readonly Message[] {
  const answer = messages.findIndex((one) => one.role === 'assistant' && (one.id === run || one.metadata?.runId === run));
  const before = answer < 0 ? messages : messages.slice(0, answer);
  return before.at(-1)?.role === 'user' ? before.slice(0, -1) : before;
}
