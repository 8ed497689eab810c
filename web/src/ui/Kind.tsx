/** A kind of fact, as a chip: its hue, its icon and a word. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon';

export type Kind =
  | 'text'
  | 'reasoning'
  | 'tool'
  | 'approval'
  | 'state'
  | 'proof'
  | 'media'
  | 'error'
  | 'neutral';

type Props = { kind: Kind; icon?: IconName; title?: string; children: ReactNode };

export function KindChip({ kind, icon = kind, title, children }: Props) {
  return (
    <span className="chip" data-kind={kind} title={title}>
      <Icon name={icon} />
      {children}
    </span>
  );
}
