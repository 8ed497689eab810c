/** A fold whose inside is made when it is first opened: a closed one costs one line, whatever is in it. */
import { useState, type ComponentProps, type ReactNode } from 'react';

type Props = Omit<ComponentProps<'details'>, 'children' | 'open'> & {
  /** Whether it begins open. */
  open?: boolean;
  summary: ReactNode;
  children: () => ReactNode;
};

export function Details({ open = false, summary, children, ...rest }: Props) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details {...rest} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
