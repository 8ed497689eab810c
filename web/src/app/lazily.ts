/**
 * A part of the page that is loaded when it is needed. React would remember for ever that this failed: so while the
 * server is away a part is asked for again, and what stands in its place stays.
 */
import { lazy, type ComponentType, type LazyExoticComponent } from 'react';

/** Seconds between attempts, over a minute; the failure of the last one is shown. */
const PATIENT = [0.3, 1, 2, 4, 8, 8, 8, 8, 8, 8];
/** For what has nothing to stand in its place: soon one should be told. */
export const BRIEF = [0.3, 1];

// As React's own `lazy` has it.
export function lazily<C extends ComponentType<any>>(load: () => Promise<{ default: C }>, waits = PATIENT): LazyExoticComponent<C> {
  return lazy(() => persistently(load, waits));
}

async function persistently<T>(load: () => Promise<T>, waits: readonly number[]): Promise<T> {
  for (const seconds of waits) {
    try {
      return await load();
    } catch {
      await new Promise((done) => setTimeout(done, seconds * 1000));
    }
  }
  return load();
}
