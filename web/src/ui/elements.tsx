/** Small elements that all panels and pages use. */
import { useRun } from '../chat/ChatContext';
import { number } from './format';
import { eventNumber } from '../film/events';
import { Fragment, type ReactNode, useState, type ComponentProps } from 'react';
import { ago, duration } from './format';

type Props = { title: string; count?: ReactNode; children?: ReactNode };

export function PanelHeader({ title, count, children }: Props) {
  return (
    <header className="panel-header">
      <h2>
        {title} {count !== undefined && <span className="count">{count}</span>}
      </h2>
      {children !== undefined && <div className="actions">{children}</div>}
    </header>
  );
}

/** A name of code, which may go on in the next line behind a dot or an underscore, and not within a word. */
export function Breakable({ name }: { name: string }) {
  return name.split(/(?<=[._])(?=[^._])/).map((piece, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {piece}
    </Fragment>
  ));
}

/** An empty panel says what will appear there, and how to get it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children !== undefined && <div className="empty-body">{children}</div>}
    </div>
  );
}

/** A moment: relative to the run's start if that is given, else to now; absolute on hover. Seconds since 1970. */
export function Time({ at, start }: { at: number; start?: number }) {
  const absolute = new Date(at * 1000);
  if (Number.isNaN(absolute.getTime())) return null;
  return (
    <time className="time" dateTime={absolute.toISOString()} title={absolute.toLocaleString()}>
      {start === undefined ? ago(at, Date.now() / 1000) : `+${duration(at - start)}`}
    </time>
  );
}

/** A fold whose inside is made when it is first opened: a closed one costs one line, whatever is in it. */
type DetailsProps = Omit<ComponentProps<'details'>, 'children' | 'open'> & {
  /** Whether it begins open. */
  open?: boolean;
  summary: ReactNode;
  children: () => ReactNode;
};

export function Details({ open = false, summary, children, ...rest }: DetailsProps) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details {...rest} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}

/** A link to a moment: every number leads to where it came from. */
type EventLinkProps = { cursor: number; seek(cursor: number): void; children?: ReactNode };

export function EventLink({ cursor, seek, children }: EventLinkProps) {
  const film = useRun();
  const words = `event ${number(film ? eventNumber(film, cursor) : cursor)}`;
  return (
    <button type="button" className="link event-link" title={`Go to ${words}`} onClick={() => seek(cursor)}>
      {children ?? words}
    </button>
  );
}
