/** How a run ended, as lists of runs show it. */
import * as words from '../words/home';
export const OUTCOMES = {
  finished: { kind: 'neutral', icon: 'check', word: words.finished },
  failed: { kind: 'error', icon: 'error', word: words.failed },
  waiting: { kind: 'approval', icon: 'approval', word: words.waitingForYou },
  cancelled: { kind: 'neutral', icon: 'stop', word: words.stopped },
  incomplete: { kind: 'error', icon: 'error', word: words.incomplete },
  running: { kind: 'text', icon: 'play', word: words.running },
} as const;
