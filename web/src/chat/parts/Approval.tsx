/** A call that a person has to approve: focus comes here when it appears. */
import { useEffect, useRef, useState } from 'react';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { useActions } from '../ChatContext';
import type { CallNotes } from '../message';

type Props = { approval: { id: string; requestReason?: string }; notes: CallNotes; tool: string };

export function Approval({ approval, notes, tool }: Props) {
  const { conversation, reason: blocked } = useActions();
  const [isDenying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const [isSent, setSent] = useState(false);
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A log that follows its end shows the card by itself; a reader who has scrolled up is left alone.
    if (conversation) card.current?.focus({ preventScroll: true });
  }, [conversation]);
  const decide = (approved: boolean) => {
    setSent(true);
    void conversation?.decide(approval.id, approved, approved ? undefined : reason.trim());
  };
  const hint = notes.hint || approval.requestReason;
  return (
    <div className="ask" ref={card} tabIndex={-1} role="group" aria-label={`Approve ${tool}?`}>
      <p>{hint || `${tool} runs only if you approve it.`}</p>
      {notes.payload !== undefined && notes.payload !== null && <Json value={notes.payload} name="payload" open={2} />}
      {isDenying && (
        <input className="field" autoFocus placeholder="Why not? (optional)" aria-label="Reason for denying" value={reason} onChange={(event) => setReason(event.target.value)} onKeyDown={(event) => event.key === 'Enter' && decide(false)} />
      )}
      <div className="row">
        {!isDenying && (
          <button type="button" className="button" data-look="primary" disabled={!conversation || isSent} title={blocked} onClick={() => decide(true)}>
            <Icon name="check" /> Approve
          </button>
        )}
        <button type="button" className="button" disabled={!conversation || isSent} title={blocked} onClick={() => (isDenying ? decide(false) : setDenying(true))}>
          <Icon name="cross" /> {isDenying ? 'Deny this call' : 'Deny…'}
        </button>
        {isDenying && (
          <button type="button" className="button" data-look="quiet" onClick={() => setDenying(false)}>
            Back
          </button>
        )}
      </div>
    </div>
  );
}
