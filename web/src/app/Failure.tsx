/** Catches what a part of the page could not show, so that the rest stays. */
import { Component, type ReactNode } from 'react';
import { Icon } from '../ui/Icon';
import { isServed } from './lazyWithRetry';
import { explain, isUnreached } from './problem';
import * as words from '../words/app';

type Props = { what: string; children: ReactNode };
type State = { error: unknown };

export class Failure extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  /** Show it again. Code that could not be loaded stays so until the page is: but only if there is a server to load from. */
  private async retry(): Promise<void> {
    if (!isUnreached(this.state.error)) return this.setState({ error: null });
    if (await isServed()) location.reload();
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>
          {words.couldNotBeShown(this.props.what, explain(this.state.error))}
        </span>
        <span className="actions">
          <button type="button" className="button" onClick={() => void this.retry()}>
            {words.tryAgain}
          </button>
        </span>
      </div>
    );
  }
}
