/**
 * What the page draws of a chat. The AI SDK goes on writing into a message that it has just added: to a view that compares
 * what it drew with what is there now, nothing would ever seem to change. So it draws a copy.
 */
import type { Message } from './message';

/** Return the messages with a copy of the last one, the only one that is written into. */
export function copyMessages(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (!last) return messages;
  return [...messages.slice(0, -1), { ...last, parts: last.parts.map((part) => ({ ...part })) }];
}
