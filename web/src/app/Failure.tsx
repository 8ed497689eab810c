/** Catches what a part of the page could not show, so that the rest stays. */
import { Component, type ReactNode } from 'react';
import { Icon } from '../ui/Icon';
import { explain } from './problem';

type Props = { what: string; children: ReactNode };
type State = { error: unknown };

export class Failure extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>
          {this.props.what} could not be shown: {explain(this.state.error)}
        </span>
        <span className="actions">
          <button type="button" className="button" onClick={() => this.setState({ error: null })}>
            Try again
          </button>
        </span>
      </div>
    );
  }
}
