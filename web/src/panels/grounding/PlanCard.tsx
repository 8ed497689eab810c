/** A search that waits for the researcher: what it would do, and the four answers. */
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';
import { KindChip } from '../../ui/Kind';
import { filterWords, type Plan } from './box';

export type Decision = 'ok' | 'short_run' | 'modify' | 'cancel';

const ANSWERS: readonly { decision: Decision; label: string; key: string }[] = [
  { decision: 'ok', label: 'OK', key: 'o' },
  { decision: 'short_run', label: 'Short run', key: 's' },
  { decision: 'modify', label: 'Modify', key: 'm' },
  { decision: 'cancel', label: 'Cancel', key: 'c' },
];

type Props = { plan: Plan; off: string | null; given: string; decide(decision: Decision, words: string): void };

export function PlanCard({ plan, off, given, decide }: Props) {
  const [modifying, setModifying] = useState(false);
  const [words, setWords] = useState('');
  const answer = (decision: Decision) => (decision === 'modify' ? setModifying(true) : decide(decision, ''));
  useAnswerKeys(off === null && !modifying, answer);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!words.trim()) return;
    decide('modify', words.trim());
    setModifying(false);
  };
  return (
    <section className="section plan" data-kind="approval" aria-label="Pending plan">
      <h3>
        <KindChip kind="approval">pending plan</KindChip>
        {plan.mode && <KindChip kind="neutral">{plan.mode}</KindChip>}
      </h3>
      <dl>
        <Row term="Database">{plan.database}</Row>
        <Row term="Query">
          <code>{plan.query}</code>
        </Row>
        <Row term="Filters">{filterWords(plan.filters)}</Row>
        <Row term="Why">{plan.rationale}</Row>
        <Row term="Expected">{plan.expected_results}</Row>
        <Row term="Cost and time">{plan.cost_time}</Row>
        <Row term="Fetches">{plan.limit ? `at most ${plan.limit}` : ''}</Row>
        <Row term="Alternative">{plan.alternative}</Row>
      </dl>
      {given && <p className="muted">Answered: {given.replaceAll('_', ' ')}. The agent continues with the next message.</p>}
      {modifying ? (
        <form className="add" onSubmit={submit}>
          <input className="field" autoFocus placeholder="What should change? For example: since 2021" aria-label="What should change" value={words} onChange={(event) => setWords(event.target.value)} />
          <button type="submit" className="button" disabled={!words.trim()}>Send</button>
          <button type="button" className="button" data-look="quiet" onClick={() => setModifying(false)}>Back</button>
        </form>
      ) : (
        <div className="answers" role="group" aria-label="Answer to the plan">
          {ANSWERS.map(({ decision, label, key }) => (
            <button key={decision} type="button" className="button" data-look={decision === 'ok' ? 'primary' : undefined} disabled={off !== null} title={off ?? `${label} (${key})`} aria-keyshortcuts={key} onClick={() => answer(decision)}>
              {decision === 'ok' && <Icon name="check" />} {label} <kbd aria-hidden="true">{key}</kbd>
            </button>
          ))}
        </div>
      )}
      {off !== null && <p className="muted">{off}</p>}
    </section>
  );
}

function Row({ term, children }: { term: string; children: React.ReactNode }) {
  if (!children) return null;
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}

const TYPING = 'input:not([type=range]), textarea, select, [contenteditable], dialog';

/** Answer by a key, wherever nothing is being typed. */
function useAnswerKeys(on: boolean, answer: (decision: Decision) => void): void {
  const latest = useRef(answer);
  useEffect(() => {
    latest.current = answer;
  });
  useEffect(() => {
    if (!on) return;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.target instanceof Element && event.target.closest(TYPING)) return;
      const found = ANSWERS.find(({ key }) => key === event.key);
      if (!found) return;
      event.preventDefault();
      latest.current(found.decision);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [on]);
}
