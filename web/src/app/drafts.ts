/** What is written and not yet sent: drafts, and first messages on their way to a chat that is about to open. */
import { signedInUser } from './server';
import { go, HOME } from './route';
import type { Where } from '../chat/transport';

const waiting = new Map<string, string>();
const fresh = new Set<string>();

/** Open a new chat of an app; with a text, it is the chat's first message. */
export function startChat(app: string, text = ''): void {
  const session = newSession();
  fresh.add(session);
  rememberOpened(session);
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

const OPENED = 'prism:opened';

/** Tell whether a chat was opened on this page or before it was reloaded: it may have no past, and is not missing. */
export function wasOpenedHere(session: string): boolean {
  try {
    return (sessionStorage.getItem(OPENED) ?? '').split(' ').includes(session);
  } catch {
    return true; // Storage is switched off: nobody can tell.
  }
}

function rememberOpened(session: string): void {
  try {
    sessionStorage.setItem(OPENED, `${sessionStorage.getItem(OPENED) ?? ''} ${session}`);
  } catch {
    // As above.
  }
}

function newSession(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, '0'))
    .join('')
    .slice(0, 20);
}

// What was typed and did not arrive, kept over reloads: nothing that a person typed is lost.

/** Still in the field, or sent without an answer so far. */
type Stage = 'draft' | 'unsent';

export function draftKey({ app, user, session }: Where): string {
  return `${app}/${user}/${session}`;
}

export function readDraft(chat: string, stage: Stage = 'draft'): string {
  try {
    return localStorage.getItem(`prism:${stage}:${chat}`) ?? '';
  } catch {
    return ''; // Storage is switched off: the text lives as long as the page.
  }
}

export function keepDraft(chat: string, text: string, stage: Stage = 'draft'): void {
  try {
    if (text) localStorage.setItem(`prism:${stage}:${chat}`, text);
    else localStorage.removeItem(`prism:${stage}:${chat}`);
  } catch {
    // Full or switched off: as above.
  }
}

/** Put what was sent and never arrived back into the field, when the page is opened again. */
export function restoreUnsent(chat: string): void {
  const unsent = readDraft(chat, 'unsent');
  if (!unsent) return;
  keepDraft(chat, '', 'unsent');
  if (!readDraft(chat)) keepDraft(chat, unsent);
}
