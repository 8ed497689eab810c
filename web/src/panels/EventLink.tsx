/** A link to a moment: every number leads to where it came from. */
import type { ReactNode } from 'react';
import * as words from '../words/panels';

type Props = { cursor: number; seek(cursor: number): void; children?: ReactNode };

export function EventLink({ cursor, seek, children }: Props) {
  return (
    <button type="button" className="link event-link" title={words.goToEvent(cursor)} onClick={() => seek(cursor)}>
      {children ?? words.eventNumber(cursor)}
    </button>
  );
}
