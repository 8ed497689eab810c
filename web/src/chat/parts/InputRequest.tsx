/** A workflow asks the person. */
import { Suspense } from 'react';
import { lazily } from '../../app/lazily';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import type { Schema } from '../answer';
import { useActions } from '../ChatContext';

// Few are ever asked.
const AnswerForm = lazily(() => import('./AnswerForm'));

type Request = { message?: string; payload?: unknown; response_schema?: Schema; responseSchema?: Schema };
type Props = { id: string; request: unknown; isAnswered: boolean };

export default function InputRequest({ id, request, isAnswered }: Props) {
  const asked = (typeof request === 'object' && request !== null ? request : {}) as Request;
  const schema = asked.response_schema ?? asked.responseSchema;
  const { conversation } = useActions();
  const answer = (response: unknown) => void conversation?.answerRequest('input', id, response);
  return (
    <div role="group" className="request" data-kind="approval" aria-label="The agent asks you">
      <p className="request-head">
        <Icon name="input" />
        <strong>{asked.message || 'The agent asks you something.'}</strong>
      </p>
      {asked.payload !== undefined && asked.payload !== null && <Json value={asked.payload} name="about" open={2} />}
      {isAnswered ? (
        <p className="quiet">Answered.</p>
      ) : (
        <Suspense>
          <AnswerForm schema={schema} onAnswer={answer} />
        </Suspense>
      )}
    </div>
  );
}
