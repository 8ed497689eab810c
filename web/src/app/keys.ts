/** Keys of the page. They work wherever nothing is being typed. */
import { useEffect, useRef } from 'react';
import { usePanels } from '../features/registry';

export type KeyAction = 'help' | 'home' | 'write' | 'stop' | 'regenerate' | 'details' | 'end';

const KEYS: Readonly<Record<string, KeyAction>> = {
  '?': 'help',
  h: 'home',
  '/': 'write',
  Escape: 'stop',
  r: 'regenerate',
  d: 'details',
  e: 'end',
};

/** Where keys are text. */
export const TYPING = 'input:not([type=range]), textarea, select, [contenteditable]:not([contenteditable=false])';

type Handlers = Partial<Record<KeyAction, () => void>> & { panel?: (name: string) => void };

export function useKeys(handlers: Handlers): void {
  const panels = usePanels();
  const latest = useRef({ ...handlers, panels });
  useEffect(() => {
    latest.current = { ...handlers, panels };
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target instanceof Element ? event.target : null;
      if (document.querySelector('dialog[open]')) return;
      if (target?.closest(TYPING)) {
        if (event.key === 'Escape') {
          leave(target);
          latest.current.stop?.();
        }
        return;
      }
      const action = KEYS[event.key];
      const panel = latest.current.panels.find((spec) => spec.key === event.key);
      if (action && latest.current[action]) latest.current[action]?.();
      else if (panel && latest.current.panel) latest.current.panel(panel.name);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

function leave(target: Element): void {
  if (target instanceof HTMLElement) target.blur();
}
