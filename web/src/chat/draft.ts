/** What was typed and not sent, kept over reloads: nothing that a person typed is lost. */

const PREFIX = 'prism:draft:';

export function readDraft(chat: string): string {
  try {
    return localStorage.getItem(PREFIX + chat) ?? '';
  } catch {
    return ''; // Storage is switched off: the text lives as long as the page.
  }
}

export function keepDraft(chat: string, text: string): void {
  try {
    if (text) localStorage.setItem(PREFIX + chat, text);
    else localStorage.removeItem(PREFIX + chat);
  } catch {
    // Full or switched off: as above.
  }
}
