/** Versions of the turns of a chat: what was regenerated or edited is kept, and can be gone on from. */
import { listVersions, type Version } from '@adk-prism/client';
import { useEffect, useState } from 'react';
import type { Message } from './message';
import { connectionOf, type Where } from './requests';

/** Of each answer that has others beside it, all of them, oldest first. */
export type Versions = ReadonlyMap<string, readonly Version[]>;

export const NO_VERSIONS: Versions = new Map();

/** Return the versions of a chat; they are asked for anew when it has grown, and not while it grows. */
export function useVersions(where: Where, isBusy: boolean, last: string): Versions {
  const [found, setFound] = useState(NO_VERSIONS);
  useEffect(() => {
    if (isBusy || !last) return;
    const leaving = new AbortController();
    listVersions(connectionOf(where), where.session, leaving.signal).then(
      (groups) => setFound(groups.length > 0 ? byAnswer(groups) : NO_VERSIONS),
      () => {}, // The chat is shown without.
    );
    return () => leaving.abort();
  }, [where, isBusy, last]);
  return found;
}

export function byAnswer(groups: readonly (readonly Version[])[]): Versions {
  return new Map(groups.flatMap((group) => group.map((one) => [one.messageId, group])));
}

/** Tell whether some of the messages are not those of the chat any more. */
export function isEarlier(messages: readonly Message[], versions: Versions): boolean {
  return messages.some(({ id }) => versions.get(id)?.find(({ messageId }) => messageId === id)?.current === false);
}
