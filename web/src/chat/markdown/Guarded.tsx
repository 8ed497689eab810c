/** Shows something else in the place of what could not be drawn; what is drawn next is tried again. */
import { Component, type ReactNode } from 'react';

type Props = { of: string; instead: ReactNode; children: ReactNode };
type State = { failed: string | null };

export class Guarded extends Component<Props, State> {
  override state: State = { failed: null };

  static getDerivedStateFromError(): State {
    return { failed: '' };
  }

  /** A block that has grown is another one: it may be drawn. */
  static getDerivedStateFromProps({ of }: Props, { failed }: State): State | null {
    if (failed === '') return { failed: of };
    return failed !== null && failed !== of ? { failed: null } : null;
  }

  override render(): ReactNode {
    return this.state.failed === null ? this.props.children : this.props.instead;
  }
}
