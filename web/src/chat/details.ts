/** Whether thoughts and changes of the state are shown in the chat; remembered on this device. */
import { useSyncExternalStore } from 'react';
import type { Part } from './message';

const KEY = 'prism:details';
const watchers = new Set<() => void>();
let shown: boolean | null = null;

function isShown(): boolean {
  if (shown === null) {
    try {
      shown = localStorage.getItem(KEY) === 'shown';
    } catch {
      shown = false;
    }
  }
  return shown;
}

export function showDetails(next: boolean): void {
  shown = next;
  try {
    localStorage.setItem(KEY, next ? 'shown' : 'hidden');
  } catch {
    // Not remembered, then.
  }
  for (const notify of watchers) notify();
}

function watch(notify: () => void): () => void {
  watchers.add(notify);
  return () => watchers.delete(notify);
}

export function useDetails(): boolean {
  return useSyncExternalStore(watch, isShown, isShown);
}

/** Tell whether a part is a detail that is hidden. Thoughts are not: they stay in place, folded. */
export function isDetail(part: Part): boolean {
  return part.type === 'data-state';
}
