/** The runs that an answer spans: whoever approves or answers begins another run, and the same message goes on. */
import { useEffect, useMemo, useState } from 'react';
import { getJson } from '../app/request';
import type { Message } from '../chat/message';
import type { Where } from '../chat/requests';

type ListedRun = { run: string; message: string };
const NONE: readonly string[] = [];

/** Return the runs of a message, oldest first; while the others are not known, its last. */
export function useMessageRuns({ app, user, session }: Where, message: Message | undefined): readonly string[] {
  const id = message?.id ?? '';
  const last = message?.metadata?.runId ?? '';
  const alone = useMemo(() => (last ? [last] : NONE), [last]);
  const [listed, setListed] = useState<{ last: string; runs: readonly string[] } | null>(null);
  useEffect(() => {
    if (!last || id === last) return; // A message is named after its first run.
    const leaving = new AbortController();
    getJson<ListedRun[]>(`api/runs?${new URLSearchParams({ app, user, session })}`, leaving.signal).then(
      (found) => setListed({ last, runs: found.filter((one) => one.message === id).map(({ run }) => run) }),
      () => {}, // The last run is shown alone, and the panel says which it is.
    );
    return () => leaving.abort();
  }, [app, user, session, id, last]);
  return listed?.last === last && listed.runs.includes(last) ? listed.runs : alone;
}
