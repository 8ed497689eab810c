/**
 * A part of the page that is loaded when it is needed. A browser remembers for ever that code could not be loaded. So
 * if the server is away just then, what stands in the part's place stays, and the page is loaded anew when the server is
 * back: nothing that was typed or said is lost by that.
 */
import { lazy } from 'react';
import { address } from './serverUrl';

/** Seconds between looks whether the server is back, for a minute; then the failure is shown. */
const LOOKS = [0.3, 1, 2, 4, 8, 8, 8, 8, 8, 8];
/** So often at most: code that is not there at all would have the page loaded over and over. */
const SELDOM_MS = 30_000;
const KEY = 'prism:reloaded';

export const lazyWithRetry: typeof lazy = (load) => lazy(() => load().catch(comeBack));

async function comeBack(error: unknown): Promise<never> {
  for (const seconds of LOOKS) {
    await new Promise((done) => setTimeout(done, seconds * 1000));
    if (await isServed()) {
      if (!mayReload()) break;
      location.reload();
      return new Promise(() => undefined);
    }
  }
  throw error;
}

/** Tell whether there is a server to load the page from. */
export async function isServed(): Promise<boolean> {
  const answer = await fetch(address('health')).catch(() => null);
  return answer?.ok ?? false;
}

function mayReload(): boolean {
  try {
    const last = Number(sessionStorage.getItem(KEY));
    sessionStorage.setItem(KEY, String(Date.now()));
    return Date.now() - last > SELDOM_MS;
  } catch {
    return false; // Nothing can be remembered, so neither that it was tried.
  }
}
