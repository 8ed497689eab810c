/** A panel's one line: name, count, actions. */
import type { ReactNode } from 'react';

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
