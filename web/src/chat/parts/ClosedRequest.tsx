/** A request that nobody has to answer any more: one line, and what was asked on demand. */
import { Icon, type IconName } from '../../ui/Icon';
import { useRejectedAnswer } from '../ChatContext';
import { Json } from '../../ui/Json';
import * as wording from '../../words/chat';

export type RequestState = 'open' | 'answered' | 'expired' | 'left';

const WORDS: Record<Exclude<RequestState, 'open'>, string> = {
  answered: wording.answered,
  expired: wording.requestHasExpired,
  left: wording.conversationHasContinuedWithoutIt,
};

type Props = { id: string; icon: IconName; words: string; state: Exclude<RequestState, 'open'>; details?: unknown };

export function ClosedRequest({ id, icon, words, state, details }: Props) {
  const refusal = useRejectedAnswer(id);
  return (
    <div role="group" className="request" data-kind="neutral" data-request={state} aria-label={words}>
      <p className="request-head">
        <Icon name={icon} />
        <span>{words}</span>
        <span className="quiet">{WORDS[state]}</span>
      </p>
      {refusal && (
        <p className="failure" role="alert">
          {wording.answerRefused(refusal.reason)}
        </p>
      )}
      {details !== undefined && details !== null && (
        <details>
          <summary className="quiet">{wording.details}</summary>
          <Json value={details} open={2} />
        </details>
      )}
    </div>
  );
}
