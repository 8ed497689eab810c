/** The four answers to a search plan: the same words and keys wherever a plan waits. */
import { useEffect, useRef, useState, type FormEvent, type RefObject } from 'react';
import { Icon } from '../../ui/Icon';
import * as wording from '../../words/grounding';

export type Decision = 'ok' | 'short_run' | 'modify' | 'cancel';

const ANSWERS: readonly { decision: Decision; label: string; key: string }[] = [
  { decision: 'ok', label: 'OK', key: 'o' },
  { decision: 'short_run', label: wording.shortRun, key: 's' },
  { decision: 'modify', label: wording.modify, key: 'm' },
  { decision: 'cancel', label: wording.cancel, key: 'c' },
];

/** Return what an answer writes into the box, and what it says in the chat. */
export function answerOf(decision: Decision, more: string): { values: Record<string, unknown>; said: string } {
  const label = ANSWERS.find((one) => one.decision === decision)?.label ?? decision;
  const values = { user_approval: decision, approval_timestamp: new Date().toISOString(), preview_mode: decision === 'short_run' };
  return { values, said: more ? `${label}: ${more}` : label };
}

type Props = {
  /** Why it cannot be answered; null if it can. */
  off: string | null;
  /** Its keys are asked before those of other answers to the same plan. */
  first?: boolean;
  decide(decision: Decision, words: string): void;
};

export function PlanAnswers({ off, first = false, decide }: Props) {
  const [modifying, setModifying] = useState(false);
  const [words, setWords] = useState('');
  const place = useRef<HTMLDivElement>(null);
  const answer = (decision: Decision) => (decision === 'modify' ? setModifying(true) : decide(decision, ''));
  useAnswerKeys(place, off === null && !modifying, first, answer);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!words.trim()) return;
    decide('modify', words.trim());
    setModifying(false);
  };
  if (modifying) {
    return (
      <form className="plan-change" onSubmit={submit}>
        <input className="field" autoFocus placeholder={wording.whatShouldChangeForExample} aria-label={wording.whatShouldChange} value={words} onChange={(event) => setWords(event.target.value)} />
        <button type="submit" className="button" disabled={!words.trim()}>{wording.send}</button>
        <button type="button" className="button" data-look="quiet" onClick={() => setModifying(false)}>{wording.back}</button>
      </form>
    );
  }
  return (
    <div className="plan-answers" role="group" aria-label={wording.answerToThePlan} ref={place}>
      {ANSWERS.map(({ decision, label, key }) => (
        <button key={decision} type="button" className="button" data-look={decision === 'ok' ? 'primary' : undefined} disabled={off !== null} title={off ?? `${label} (${key})`} aria-keyshortcuts={key} onClick={() => answer(decision)}>
          {decision === 'ok' && <Icon name="check" />} {label} <kbd aria-hidden="true">{key}</kbd>
        </button>
      ))}
    </div>
  );
}

const TYPING = 'input:not([type=range]), textarea, select, [contenteditable], dialog';

/** Answer by a key, wherever nothing is being typed, if the buttons are to be seen; `first` goes before others. */
function useAnswerKeys(place: RefObject<HTMLElement | null>, on: boolean, first: boolean, answer: (decision: Decision) => void): void {
  const latest = useRef(answer);
  useEffect(() => {
    latest.current = answer;
  });
  useEffect(() => {
    if (!on) return;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (place.current?.offsetParent == null || (event.target instanceof Element && event.target.closest(TYPING))) return;
      const found = ANSWERS.find(({ key }) => key === event.key);
      if (!found) return;
      event.preventDefault();
      latest.current(found.decision);
    };
    addEventListener('keydown', press, first);
    return () => removeEventListener('keydown', press, first);
  }, [on, first]);
}
