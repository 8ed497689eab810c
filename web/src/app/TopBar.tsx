import type { ReactNode } from 'react';
import { Icon } from '../ui/Icon';
import { Logo } from './Logo';
import { linkTo } from './route';
import type { Theme } from './theme';
import * as words from '../words/app';

type Props = { theme: Theme; onTheme: () => void; onHelp: () => void; onRail: (() => void) | null; children?: ReactNode };

export function TopBar({ theme, onTheme, onHelp, onRail, children }: Props) {
  return (
    <header className="topbar">
      {onRail && (
        <button type="button" className="button rail-toggle" data-look="quiet" data-square="" aria-label={words.appsAndConversations} onClick={onRail}>
          <Icon name="menu" />
        </button>
      )}
      <a className="brand" href={linkTo({ kind: 'home' })} aria-label={words.adkPrismHome}>
        <Logo />
        <span>{words.adkPrism}</span>
      </a>
      <div className="topbar-place" />
      {children}
      <button type="button" className="button" data-look="quiet" data-square="" title={words.theme(theme)} aria-label={words.theme(theme)} onClick={onTheme}>
        <Icon name={theme} />
      </button>
      <button type="button" className="button" data-look="quiet" data-square="" title={words.keyboardShortcutsHint} aria-label={words.keyboardShortcuts} onClick={onHelp}>
        <Icon name="help" />
      </button>
    </header>
  );
}
