import type { ReactNode } from 'react';
import { Icon } from '../ui/Icon';
import { Logo } from './Logo';
import { linkTo } from './route';
import type { Theme } from './theme';

type Props = { theme: Theme; onTheme: () => void; onHelp: () => void; onRail: (() => void) | null; children?: ReactNode };

export function TopBar({ theme, onTheme, onHelp, onRail, children }: Props) {
  return (
    <header className="topbar">
      {onRail && (
        <button type="button" className="button rail-toggle" data-look="quiet" data-square="" aria-label="Apps and conversations" onClick={onRail}>
          <Icon name="menu" />
        </button>
      )}
      <a className="brand" href={linkTo({ kind: 'home' })} aria-label="adk-prism, home">
        <Logo />
        <span>adk-prism</span>
      </a>
      <div className="topbar-place" />
      {children}
      <button type="button" className="button" data-look="quiet" data-square="" title={`Theme: ${theme}`} aria-label={`Theme: ${theme}`} onClick={onTheme}>
        <Icon name={theme} />
      </button>
      <button type="button" className="button" data-look="quiet" data-square="" title="Keyboard shortcuts (?)" aria-label="Keyboard shortcuts" onClick={onHelp}>
        <Icon name="help" />
      </button>
    </header>
  );
}
