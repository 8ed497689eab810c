/** How a person says when they speak: by holding a key, or by speaking. Kept from one conversation to the next. */
import type { Mode } from '@adk-prism/client/live';

const KEY = 'prism:voice';

export function readMode(): Mode {
  try {
    return localStorage.getItem(KEY) === 'open' ? 'open' : 'hold';
  } catch {
    return 'hold'; // Storage is switched off.
  }
}

export function keepMode(mode: Mode): void {
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // As above: it lasts as long as the page.
  }
}
