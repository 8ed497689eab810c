/** The four answers to a search plan: the same words and keys wherever a plan waits. */
import { useEffect, useRef, useState, type FormEvent, type RefObject, type ReactNode } from 'react';
import { Icon } from '../../ui/Icon';
import { address, call, problemOf } from '../../app/server';
import { isImported, type Film } from '../../film/film';
import { PREFIX } from './grounding';
import { shared } from '../../film/sharedFile';
import { KindChip } from '../../ui/Kind';
import { filterWords, type Plan } from './box';

/** A state-only update: the session's state changes, and no model is called. */
const RUN_HEADER = 'x-prism-run';

/** Write values into the box; return the run that did. Throw a `Problem` where the server refuses. */
export async function updateBox(film: Film, values: Record<string, unknown>): Promise<string | null> {
  const response = await call(address('run'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      appName: film.app,
      userId: film.user,
      sessionId: film.session,
      newMessage: { role: 'system', parts: [] },
      stateDelta: boxDelta(values),
    }),
  });
  if (!response.ok) throw await problemOf(response);
  await response.text();
  return response.headers.get(RUN_HEADER);
}

export function boxDelta(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [PREFIX + name, value]));
}

/** Say why the box cannot be written here; null if it can. */
export function whyReadOnly(film: Film, at: number, live: boolean): string | null {
  if (shared()) return 'This is a shared file: it is read-only.';
  if (isImported(film)) return 'This run was recorded on another server: its session is not available here.';
  if (at < film.last) return 'You are viewing the past. Return to the latest event to make changes.';
  if (live) return 'The agent is running. Wait until it finishes.';
  return null;
}

export type Decision = 'ok' | 'short_run' | 'modify' | 'cancel';

const ANSWERS: readonly { decision: Decision; label: string; key: string }[] = [
  { decision: 'ok', label: 'OK', key: 'o' },
  { decision: 'short_run', label: 'Short run', key: 's' },
  { decision: 'modify', label: 'Modify', key: 'm' },
  { decision: 'cancel', label: 'Cancel', key: 'c' },
];

/** Return what an answer writes into the box, and what it says in the chat. */
export function answerOf(decision: Decision, more: string): { values: Record<string, unknown>; said: string } {
  const label = ANSWERS.find((one) => one.decision === decision)?.label ?? decision;
  const values = {
    user_approval: decision,
    approval_timestamp: new Date().toISOString(),
    preview_mode: decision === 'short_run',
  };
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
        <input
          className="field"
          autoFocus
          placeholder="What should change? For example: since 2021"
          aria-label="What should change"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <button type="submit" className="button" disabled={!words.trim()}>
          Send
        </button>
        <button type="button" className="button" data-look="quiet" onClick={() => setModifying(false)}>
          Back
        </button>
      </form>
    );
  }
  return (
    <div className="plan-answers" role="group" aria-label="Answer to the plan" ref={place}>
      {ANSWERS.map(({ decision, label, key }) => (
        <button
          key={decision}
          type="button"
          className="button"
          data-look={decision === 'ok' ? 'primary' : undefined}
          disabled={off !== null}
          title={off ?? `${label} (${key})`}
          aria-keyshortcuts={key}
          onClick={() => answer(decision)}
        >
          {decision === 'ok' && <Icon name="check" />} {label} <kbd aria-hidden="true">{key}</kbd>
        </button>
      ))}
    </div>
  );
}

const TYPING = 'input:not([type=range]), textarea, select, [contenteditable], dialog';

/** Answer by a key, wherever nothing is being typed, if the buttons are to be seen; `first` goes before others. */
function useAnswerKeys(
  place: RefObject<HTMLElement | null>,
  on: boolean,
  first: boolean,
  answer: (decision: Decision) => void,
): void {
  const latest = useRef(answer);
  useEffect(() => {
    latest.current = answer;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: whether the panel is visible is read when a key is pressed
  useEffect(() => {
    if (!on) return;
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (place.current?.offsetParent == null || (event.target instanceof Element && event.target.closest(TYPING)))
        return;
      const found = ANSWERS.find(({ key }) => key === event.key);
      if (!found) return;
      event.preventDefault();
      latest.current(found.decision);
    };
    addEventListener('keydown', press, first);
    return () => removeEventListener('keydown', press, first);
  }, [on, first]);
}

/** A search that waits for the researcher: what it would do, and the four answers. */
type PlanCardProps = { plan: Plan; off: string | null; given: string; decide(decision: Decision, words: string): void };

export function PlanCard({ plan, off, given, decide }: PlanCardProps) {
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
      {given && (
        <p className="muted">{`Answered: ${given.replaceAll('_', ' ')}. The agent continues with the next message.`}</p>
      )}
      <PlanAnswers off={off} decide={decide} />
      {off !== null && <p className="muted">{off}</p>}
    </section>
  );
}

function Row({ term, children }: { term: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}
