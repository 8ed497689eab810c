/** Versions of the turns of a chat: what was regenerated or edited is kept, and can be gone on from. */
import { useEffect, useState } from 'react';
import { getJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Message } from './message';
import type { Where } from './requests';

export type Version = { messageId: string; userMessageId: string; started: number; current: boolean };

/** Of each answer that has others beside it, all of them, oldest first. */
export type Versions = ReadonlyMap<string, readonly Version[]>;

export const NO_VERSIONS: Versions = new Map();

function addressOf({ app, user, session }: Where, what: string, more: Record<string, string> = {}): string {
  return `${path('api', 'chat', app, session, what)}?${new URLSearchParams({ userId: user, ...more })}`;
}

/** Return the versions of a chat; they are asked for anew when it has grown, and not while it grows. */
export function useVersions(where: Where, isBusy: boolean, last: string): Versions {
  const [found, setFound] = useState(NO_VERSIONS);
  useEffect(() => {
    if (isBusy || !last) return;
    const leaving = new AbortController();
    getJson<Version[][]>(addressOf(where, 'versions'), leaving.signal).then(
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

/** Return the messages of the conversation that an answer is in; without one, those of the chat. */
export function loadVersion(where: Where, messageId: string): Promise<Message[]> {
  return getJson<Message[]>(addressOf(where, 'messages', { version: messageId, dialect: '7' }));
}

/** Tell whether some of the messages are not those of the chat any more. */
export function isEarlier(messages: readonly Message[], versions: Versions): boolean {
  return messages.some(({ id }) => versions.get(id)?.find(({ messageId }) => messageId === id)?.current === false);
}
