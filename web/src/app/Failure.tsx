/** Catches what a part of the page could not show, so that the rest stays. */
import { Component, type ReactNode, lazy } from 'react';
import { Icon } from '../ui/Icon';
import { explain, isUnreached, address } from './server';

// A part of the page that is loaded when it is needed. A browser remembers for ever that code could not be loaded. So
// if the server is away just then, what stands in the part's place stays, and the page is loaded anew when the server
// is back: nothing that was typed or said is lost by that.

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
async function isServed(): Promise<boolean> {
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

type Props = { what: string; children: ReactNode };
type State = { error: unknown };

export class Failure extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  /**
   * Show it again. Code that could not be loaded stays so until the page is: but only if there is a server to load
   * from.
   */
  private async retry(): Promise<void> {
    if (!isUnreached(this.state.error)) return this.setState({ error: null });
    if (await isServed()) location.reload();
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{`${this.props.what} could not be shown: ${explain(this.state.error)}`}</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => void this.retry()}>
            Try again
          </button>
        </span>
      </div>
    );
  }
}
