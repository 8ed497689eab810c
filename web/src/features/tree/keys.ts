/** The keys of the timeline. They work wherever nothing else wants them. */
import { useEffect, useRef } from 'react';

export type Action =
  | 'previous step'
  | 'next step'
  | 'previous event'
  | 'next event'
  | 'previous node'
  | 'next node'
  | 'play'
  | 'next failure'
  | 'next match'
  | 'previous match'
  | 'next peer'
  | 'begin range'
  | 'end range';

const KEYS: Record<string, Action> = {
  ArrowLeft: 'previous step',
  ArrowRight: 'next step',
  'Alt+ArrowLeft': 'previous event',
  'Alt+ArrowRight': 'next event',
  'Shift+ArrowLeft': 'previous node',
  'Shift+ArrowRight': 'next node',
  ' ': 'play',
  f: 'next failure',
  n: 'next match',
  N: 'previous match',
  p: 'next peer',
  '[': 'begin range',
  ']': 'end range',
};

const TYPING = 'input:not([type=range]), textarea, select, [contenteditable]:not([contenteditable=false]), dialog';
const PRESSED = 'button, a, summary, [role=tab], [role=menuitem]';

export function actionOf(event: KeyboardEvent): Action | null {
  const isArrow = event.key.startsWith('Arrow');
  // Brackets are typed with AltGr on many keyboards, and that looks like Ctrl and Alt.
  const isModified =
    !event.getModifierState('AltGraph') && (event.ctrlKey || event.metaKey || (event.altKey && !isArrow));
  if (event.defaultPrevented || isModified) return null;
  const target = event.target instanceof Element ? event.target : null;
  if (target?.closest(TYPING)) return null;
  const action =
    KEYS[`${isArrow && event.altKey ? 'Alt+' : ''}${isArrow && event.shiftKey ? 'Shift+' : ''}${event.key}`] ?? null;
  if (action === 'play' && target?.closest(PRESSED)) return null; // Space presses what has the focus.
  if (isArrow && !event.shiftKey && target?.closest('[role=tablist], [type=range]')) return null; // Arrows are theirs.
  return action;
}

/** Call `act` for the keys of the timeline, wherever they are pressed. */
export function useKeys(act: (action: Action) => void): void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const action = actionOf(event);
      if (!action) return;
      event.preventDefault();
      latest.current(action);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

/** Call `act` for Escape while `isOn`, before anybody else hears of it; fields and dialogs keep theirs. */
export function useEscape(isOn: boolean, act: () => void): void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  useEffect(() => {
    if (!isOn) return;
    const press = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : null;
      if (event.key !== 'Escape' || target?.closest(TYPING) || document.querySelector('dialog[open], :popover-open'))
        return;
      event.preventDefault();
      event.stopPropagation();
      latest.current();
    };
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  }, [isOn]);
}
