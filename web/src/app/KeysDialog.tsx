/** The map of keys, on `?`. */
import { useEffect, useRef } from 'react';
import { usePanels } from '../features/registry';
import { Icon } from '../ui/Icon';

/** Keys, beside those of the panels. */
const KEY_MAP: readonly [keys: string, does: string][] = [
  ['?', 'keyboard shortcuts'],
  ['Ctrl+K', 'search and jump to anything'],
  ['h', 'home'],
  ['/', 'write a message'],
  ['↵  ⇧↵', 'send; new line'],
  ['Esc', 'stop the run or the voice; leave a text field'],
  ['r', 'regenerate the answer'],
  ['d', 'show or hide thoughts and state changes'],
  ['e', 'back to now'],
  ['↑ ↓', 'in the trace: previous or next step'],
  ['← →', 'previous or next step: a row of the trace'],
  ['Alt← Alt→', 'previous or next event'],
  ['⇧← ⇧→', 'previous or next node'],
  ['Space', 'play or pause; in voice chat: hold to talk'],
  ['f', 'next failure'],
  ['n N', 'next or previous match of Find in run'],
  ['p', 'next call of the same node'],
  ['[ ]', 'begin or end a range at the playhead; Esc clears it'],
  ['w g k x', 'after a save: compare, go on live, keep, dismiss'],
  ['o s m c', 'answer the search plan: OK, short run, modify, cancel'],
];

export default function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const panels = usePanels();
  const rows = [
    ...KEY_MAP,
    ...panels.filter((panel) => panel.key).map((panel) => [panel.key, `open the ${panel.title} panel`] as const),
  ];
  return (
    <dialog
      className="dialog"
      ref={dialog}
      onClose={onClose}
      aria-label="Keyboard shortcuts"
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <header className="panel-header">
        <h2>Keyboard shortcuts</h2>
        <div className="actions">
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            aria-label="Close"
            onClick={onClose}
          >
            <Icon name="cross" />
          </button>
        </div>
      </header>
      <dl className="keys">
        {rows.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.split(/\s+/).map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
