/** The map of keys, on `?`. */
import { useEffect, useRef } from 'react';
import { PANELS } from '../panels';
import { Icon } from '../ui/Icon';
import * as words from '../words/app';

/** Keys, beside those of the panels. */
const KEY_MAP: readonly [keys: string, does: string][] = [
  ['?', words.showKeyboardShortcuts],
  ['h', words.goHome],
  ['/', words.writeAMessage],
  ['↵  ⇧↵', words.sendNewLine],
  [words.esc, words.stopTheRun],
  ['r', words.regenerateTheAnswer],
  ['d', words.showOrHideThoughts],
  ['e', words.goToTheLatestEvent],
  ['← →', words.previousOrNextStep],
  ['Alt← Alt→', words.previousOrNextEvent],
  ['⇧← ⇧→', words.previousOrNextNode],
  [words.space, words.playOrPauseInVoice],
  ['f', words.nextFailure],
  ['n N', words.nextOrPreviousMatch],
  ['p', words.nextCallOfTheSame],
  ['[ ]', words.beginOrEndARange],
  ['o s m c', words.answerTheSearchPlanOk],
];

export default function KeysDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const rows = [...KEY_MAP, ...PANELS.filter((panel) => panel.key).map((panel) => [panel.key, words.openThePanel(panel.title)] as const)];
  return (
    <dialog className="dialog" ref={dialog} onClose={onClose} aria-label={words.keyboardShortcuts} onClick={(event) => event.target === dialog.current && onClose()}>
      <header className="panel-header">
        <h2>{words.keyboardShortcuts}</h2>
        <div className="actions">
          <button type="button" className="button" data-look="quiet" data-square="" aria-label={words.close} onClick={onClose}>
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
