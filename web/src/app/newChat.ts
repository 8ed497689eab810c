/** First messages on their way to a chat that is about to open: written at home, sent by the chat. */
import { signedInUser } from './identity';
import { go, HOME } from './route';

const waiting = new Map<string, string>();
const fresh = new Set<string>();

/** Open a new chat of an app; with a text, it is the chat's first message. */
export function startChat(app: string, text = ''): void {
  const session = newSession();
  fresh.add(session);
  if (text) waiting.set(session, text);
  const user = signedInUser();
  // Named, so that whoever else follows the link is told that it is not theirs.
  go({ ...HOME, place: { kind: 'chat', app, session }, options: user ? { user } : {} });
}

/** Take the message that waits for a chat; each is taken once. */
export function takeFirst(session: string): string {
  const text = waiting.get(session) ?? '';
  waiting.delete(session);
  return text;
}

/** Tell whether a chat was opened here and has no past on the server. */
export function isFresh(session: string): boolean {
  return fresh.has(session);
}

export function settle(session: string): void {
  fresh.delete(session);
}

function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0')).join('').slice(0, 20);
}
