/** Versions of the turns of a chat: what was regenerated or edited is kept, and can be gone on from. */
import type { Version } from '@adk-prism/client';
import type { Message } from './message';

/** Of each answer that has others beside it, all of them, oldest first. */
export type Versions = ReadonlyMap<string, readonly Version[]>;

export const NO_VERSIONS: Versions = new Map();

export function byAnswer(groups: readonly (readonly Version[])[]): Versions {
  return new Map(groups.flatMap((group) => group.map((one) => [one.messageId, group])));
}

/** Tell whether some of the messages are not those of the chat any more. */
export function isEarlier(messages: readonly Message[], versions: Versions): boolean {
  return messages.some(({ id }) => versions.get(id)?.find(({ messageId }) => messageId === id)?.current === false);
}
