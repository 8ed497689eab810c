/** A workflow asks the person. */
import { Suspense } from 'react';
import { lazyWithRetry } from '../../app/lazyWithRetry';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import type { Schema } from '../answerSchema';
import { useActions, useRejectedAnswer } from '../ChatContext';
import { ClosedRequest, type RequestState } from './ClosedRequest';
import * as words from '../../words/chat';

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
  if (state !== 'open') return <ClosedRequest id={id} icon="input" words={asked.message || words.agentAskedForYourInput} state={state} details={asked.payload} />;
  return (
    <div role="group" className="request" data-kind="approval" aria-label={words.agentNeedsYourInput}>
      <p className="request-head">
        <Icon name="input" />
        <strong>{asked.message || words.inputNeeded}</strong>
      </p>
      {asked.payload !== undefined && asked.payload !== null && <Json value={asked.payload} name="about" open={2} />}
      <Suspense>
        <AnswerForm schema={schema} refusal={refusal} onAnswer={answer} />
      </Suspense>
    </div>
  );
}
