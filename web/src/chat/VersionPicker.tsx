/** ‹ 2/3 ›: which version of an answer is shown, and the way to the others. */
import { useState } from 'react';
import { explain } from '../app/server';
import { Icon } from '../ui/Icon';
import { useActions } from './ChatContext';

/** Pictures that are waited for: the messages of the other version are drawn in one of the next. */
const PATIENCE = 30;

/** Another version is another message: its picker takes the focus, so that the keyboard goes on from there. */
function keepFocus(message: string, by: -1 | 1, tries = PATIENCE): void {
  const buttons = [
    ...document.querySelectorAll<HTMLButtonElement>(`[data-message="${CSS.escape(message)}"] .versions button`),
  ];
  const wanted = by < 0 ? buttons : buttons.toReversed();
  const found = wanted.find((button) => !button.disabled);
  if (found) found.focus();
  else if (tries > 0) requestAnimationFrame(() => keepFocus(message, by, tries - 1));
}

export function VersionPicker({ message }: { message: string }) {
  const { conversation, versions, isBusy } = useActions();
  const [problem, setProblem] = useState('');
  const all = versions?.get(message) ?? [];
  const at = all.findIndex(({ messageId }) => messageId === message);
  if (!conversation || at < 0) return null;
  const step = (by: -1 | 1, label: string) => {
    const next = all[at + by];
    const show = async () => {
      setProblem('');
      try {
        await conversation.lookAt(next!.messageId);
        keepFocus(next!.messageId, by);
      } catch (error) {
        setProblem(explain(error));
      }
    };
    return (
      <button
        type="button"
        className="button"
        data-look="quiet"
        data-square=""
        data-turn={by < 0 ? 'back' : undefined}
        aria-label={label}
        title={label}
        disabled={!next || isBusy}
        onClick={() => void show()}
      >
        <Icon name="chevron" />
      </button>
    );
  };
  return (
    <span className="versions" role="group" aria-label="Versions of this answer">
      {step(-1, 'Previous version')}
      <span aria-live="polite">
        <span className="visually-hidden">Version </span>
        {at + 1}/{all.length}
      </span>
      {step(1, 'Next version')}
      {problem && (
        <span className="feedback-problem" role="alert">
          {`Could not load this version: ${problem}`}
        </span>
      )}
    </span>
  );
}
