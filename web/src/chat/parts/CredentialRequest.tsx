/** A tool needs the person to sign in: where to go, and what to bring back. */
import { useEffect, useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { useActions, useRejectedAnswer } from '../ChatContext';
import { signedIn, signIn } from '../credential';
import { ClosedRequest, type RequestState } from './ClosedRequest';
import * as words from '../../words/chat';

type Props = { id: string; request: unknown; state: RequestState };

export default function CredentialRequest({ id, request, state }: Props) {
  const { conversation, reason } = useActions();
  const [text, setText] = useState('');
  const [isSent, setSent] = useState(false);
  const refusal = useRejectedAnswer(id);
  useEffect(() => setSent(false), [refusal]);
  const asked = signIn(request);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    void conversation?.answerRequest('credential', id, signedIn(asked, text.trim()));
  };
  if (state !== 'open') return <ClosedRequest id={id} icon="key" words={words.toolAskedYouToSign} state={state} details={request} />;
  return (
    <div role="group" className="request" data-kind="approval" aria-label={words.agentAsksYouToSign}>
      <p className="request-head">
        <Icon name="key" />
        <strong>{words.toolNeedsYouToSign}</strong>
      </p>
      {asked.address && (
        <p>
          <a href={asked.address} target="_blank" rel="noopener noreferrer">
            {words.signInAt(new URL(asked.address).host)}
          </a>
          {words.thenPasteTheUrl}
        </p>
      )}
      {refusal && (
        <p className="failure" role="alert">
          {refusal.reason}
        </p>
      )}
      <form className="request-form" onSubmit={submit}>
        <input className="field" required autoComplete="off" type={asked.address ? 'text' : 'password'} aria-label={asked.prompt} placeholder={asked.prompt} value={text} onChange={(event) => setText(event.target.value)} />
        <button className="button" data-look="primary" disabled={!conversation || isSent} title={reason}>
          {words.continueLabel}
        </button>
      </form>
      <details>
        <summary className="quiet">{words.details}</summary>
        <Json value={request} open={2} />
      </details>
    </div>
  );
}
