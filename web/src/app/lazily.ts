/**
 * A part of the page that is loaded when it is needed. React would remember for ever that this failed, so a connection
 * that only stumbles is given another chance.
 */
import { lazy } from 'react';

/** Seconds between attempts; after the last one the failure is shown. */
const BACKOFF = [0.3, 1];

export const lazily: typeof lazy = (load) => lazy(() => persistently(load));

async function persistently<T>(load: () => Promise<T>): Promise<T> {
  for (const seconds of BACKOFF) {
    try {
      return await load();
    } catch {
      await new Promise((done) => setTimeout(done, seconds * 1000));
    }
  }
  return load();
}
