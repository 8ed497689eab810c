/** What a conversation was forked from, and what was forked from it. */
import { useEffect, useState } from 'react';
import { useCatalogue, type ConversationEntry } from '../app/catalogue';
import { getJson } from '../app/request';
import { shared } from '../film/sharedFile';

export type Lineage = Pick<ConversationEntry, 'title' | 'said' | 'forkedFrom' | 'forks'>;

/** Return it as soon as it is known; of a conversation that is not among the latest, the server is asked. */
export function useLineage(app: string, session: string): Lineage | null {
  const { conversations } = useCatalogue();
  const [asked, setAsked] = useState<ConversationEntry | null>(null);
  const here = (entry: ConversationEntry) => entry.app === app && entry.session === session;
  const listed = conversations?.find(here) ?? null;
  const isUnlisted = conversations !== null && listed === null && session !== '' && !shared();
  useEffect(() => {
    if (!isUnlisted) return;
    const leaving = new AbortController();
    getJson<ConversationEntry[]>(`api/conversations?${new URLSearchParams({ app, session })}`, leaving.signal).then(
      (found) => setAsked(found[0] ?? null),
      () => {}, // The conversation is shown without.
    );
    return () => leaving.abort();
  }, [isUnlisted, app, session]);
  return listed ?? (asked && here(asked) ? asked : null);
}
