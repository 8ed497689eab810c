/** What was typed and did not arrive, kept over reloads: nothing that a person typed is lost. */
import type { Where } from './requests';

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
