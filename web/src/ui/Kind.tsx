/** A kind of fact, as a chip: its hue, its icon and a word. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon';

/** How a run ended, as lists of runs show it. */
export const OUTCOMES = {
  finished: { kind: 'neutral', icon: 'check', word: 'Finished' },
  failed: { kind: 'error', icon: 'error', word: 'Failed' },
  waiting: { kind: 'approval', icon: 'approval', word: 'Waiting for you' },
  cancelled: { kind: 'neutral', icon: 'stop', word: 'Stopped' },
  incomplete: { kind: 'error', icon: 'error', word: 'Incomplete' },
  running: { kind: 'text', icon: 'play', word: 'Running' },
} as const;

export type Kind = 'text' | 'reasoning' | 'tool' | 'approval' | 'state' | 'proof' | 'media' | 'error' | 'neutral';

type Props = { kind: Kind; icon?: IconName; title?: string; children: ReactNode };

export function KindChip({ kind, icon = kind, title, children }: Props) {
  return (
    <span className="chip" data-kind={kind} title={title}>
      <Icon name={icon} />
      {children}
    </span>
  );
}
