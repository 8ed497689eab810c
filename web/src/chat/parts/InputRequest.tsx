/** A workflow asks the person. */
import { Suspense } from 'react';
import { lazyWithRetry } from '../../app/Failure';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import type { Schema } from '../answerSchema';
import { useActions, useRejectedAnswer } from '../ChatContext';
import { ClosedRequest, type RequestState } from '../PartView';

// Few are ever asked.
const AnswerForm = lazyWithRetry(() => import('./AnswerForm'));

type Request = { message?: string; payload?: unknown; response_schema?: Schema; responseSchema?: Schema };
type Props = { id: string; request: unknown; state: RequestState };

export default function InputRequest({ id, request, state }: Props) {
  const asked = (typeof request === 'object' && request !== null ? request : {}) as Request;
  const schema = asked.response_schema ?? asked.responseSchema;
  const { conversation } = useActions();
  const refusal = useRejectedAnswer(id);
  const answer = (response: unknown) => void conversation?.answerRequest('input', id, response);
  if (state !== 'open')
    return (
      <ClosedRequest
        id={id}
        icon="input"
        words={asked.message || 'The agent asked for your input.'}
        state={state}
        details={asked.payload}
      />
    );
  return (
    <div role="group" className="request" data-kind="approval" aria-label="The agent needs your input">
      <p className="request-head">
        <Icon name="input" />
        <strong>{asked.message || 'The agent needs your input.'}</strong>
      </p>
      {asked.payload !== undefined && asked.payload !== null && (
        <JsonView value={asked.payload} name="about" open={2} />
      )}
      <Suspense>
        <AnswerForm schema={schema} refusal={refusal} onAnswer={answer} />
      </Suspense>
    </div>
  );
}
