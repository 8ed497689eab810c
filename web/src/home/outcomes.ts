/** How a run ended, as lists of runs show it. */
export const OUTCOMES = {
  finished: { kind: 'neutral', icon: 'check', word: 'Finished' },
  failed: { kind: 'error', icon: 'error', word: 'Failed' },
  waiting: { kind: 'approval', icon: 'approval', word: 'Waiting for you' },
  cancelled: { kind: 'neutral', icon: 'stop', word: 'Stopped' },
  incomplete: { kind: 'error', icon: 'error', word: 'Incomplete' },
  running: { kind: 'text', icon: 'play', word: 'Running' },
} as const;
