/** A call that a person has to approve: focus comes here when it appears. */
import { Suspense, useEffect, useRef, useState } from 'react';
import { lazyWithRetry } from '../../app/Failure';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { useActions, useRejectedAnswer } from '../ChatContext';
import type { CallNotes } from '../message';
import { isPlanned, useWaitingPlan } from '../../features/grounding/grounding';

// Few tools want more than yes or no.
const AnswerForm = lazyWithRetry(() => import('./AnswerForm'));

const PlanRequest = lazyWithRetry(() => import('../../features/grounding/PlanRequest'));

type Props = { approval: { id: string; requestReason?: string }; notes: CallNotes; tool: string; input: unknown };

export default function Approval({ approval, notes, tool, input }: Props) {
  const { conversation, reason: blocked } = useActions();
  const refusal = useRejectedAnswer(approval.id);
  const [isDenying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const [isSent, setSent] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal makes the form usable again
  useEffect(() => setSent(false), [refusal]);
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A log that follows its end shows the card by itself; a reader who has scrolled up is left alone. Of several, the
    // first one has the focus.
    if (conversation && !document.activeElement?.closest('.ask')) card.current?.focus({ preventScroll: true });
  }, [conversation]);
  const decide = (approved: boolean, payload?: unknown) => {
    setSent(true);
    void conversation?.decide(approval.id, approved, approved ? { payload } : { reason: reason.trim() });
  };
  const isOff = !conversation || isSent;
  const approve = (
    <>
      <Icon name="check" /> Approve
    </>
  );
  const deny = (
    <button
      type="button"
      className="button"
      disabled={isOff}
      title={blocked}
      onClick={() => (isDenying ? decide(false) : setDenying(true))}
    >
      <Icon name="cross" /> {isDenying ? 'Deny' : 'Deny…'}
    </button>
  );
  const isPlan = isPlanned(useWaitingPlan(), input);
  const hint = notes.hint || approval.requestReason;
  const wants = notes.schema !== undefined && notes.schema !== null;
  return (
    <div className="ask" ref={card} tabIndex={-1} role="group" aria-label={`Approve ${tool}?`}>
      <p>{hint || (isPlan ? 'Run this search?' : `Allow ${tool} to run?`)}</p>
      {!wants && notes.payload !== undefined && notes.payload !== null && (
        <JsonView value={notes.payload} name="payload" open={2} />
      )}
      {refusal && !wants && (
        <p className="failure" role="alert">
          {refusal.reason}
        </p>
      )}
      {isPlan ? (
        <Suspense>
          <PlanRequest />
        </Suspense>
      ) : isDenying ? (
        <>
          <input
            className="field"
            autoFocus
            placeholder="Reason (optional)"
            aria-label="Reason for denying"
            value={reason}
            onChange={(event) => setReason(event.target.value)}
            onKeyDown={(event) => event.key === 'Enter' && decide(false)}
          />
          <div className="row">
            {deny}
            <button type="button" className="button" data-look="quiet" onClick={() => setDenying(false)}>
              Back
            </button>
          </div>
        </>
      ) : wants ? (
        <Suspense>
          <AnswerForm
            schema={notes.schema}
            sample={notes.payload}
            refusal={refusal}
            word={approve}
            onAnswer={(payload) => decide(true, payload)}
          >
            {deny}
          </AnswerForm>
        </Suspense>
      ) : (
        <div className="row">
          <button
            type="button"
            className="button"
            data-look="primary"
            disabled={isOff}
            title={blocked}
            onClick={() => decide(true)}
          >
            {approve}
          </button>
          {deny}
        </div>
      )}
    </div>
  );
}
