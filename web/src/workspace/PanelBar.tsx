/** One button for each panel: tabs where there is room for one thing at a time, else switches. */
import { useEffect, useRef } from 'react';
import type { PanelSpec } from '../panels/panel';
import * as words from '../words/workspace';

type Props = {
  panels: readonly PanelSpec[];
  /** Names of those that are shown. */
  open: readonly string[];
  onPick(panel: PanelSpec): void;
  /** Show the chat again; absent where it is always shown. */
  onChat?: () => void;
};

export function PanelBar({ panels, open, onPick, onChat }: Props) {
  return (
    <nav className="tabs" aria-label={words.panels} data-alone={onChat ? '' : undefined}>
      {onChat && <Tab title={words.chat} isOpen={open.length === 0} onPick={onChat} />}
      {panels.map((panel) => (
        <Tab key={panel.name} title={panel.title} keys={panel.key} isOpen={open.includes(panel.name)} onPick={() => onPick(panel)} />
      ))}
    </nav>
  );
}

function Tab({ title, keys, isOpen, onPick }: { title: string; keys?: string; isOpen: boolean; onPick: () => void }) {
  const tab = useRef<HTMLButtonElement>(null);
  // Where tabs are scrolled, the one that is open is seen.
  useEffect(() => {
    if (isOpen) tab.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isOpen]);
  return (
    <button ref={tab} type="button" className="tab" aria-pressed={isOpen} title={keys ? `${title} (${keys})` : title} onClick={onPick}>
      {title}
    </button>
  );
}
