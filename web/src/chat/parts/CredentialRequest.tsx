/** A tool needs the person to sign in: where to go, and what to bring back. */
import { useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { useActions } from '../ChatContext';
import { signedIn, signIn } from '../credential';

type Props = { id: string; request: unknown; isAnswered: boolean };

export default function CredentialRequest({ id, request, isAnswered }: Props) {
  const { conversation, reason } = useActions();
  const [text, setText] = useState('');
  const [isSent, setSent] = useState(false);
  const asked = signIn(request);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    void conversation?.answerRequest('credential', id, signedIn(asked, text.trim()));
  };
  return (
    <div role="group" className="request" data-kind="approval" aria-label="The agent asks you to sign in">
      <p className="request-head">
        <Icon name="key" />
        <strong>A tool needs you to sign in</strong>
      </p>
      {asked.address && (
        <p>
          <a href={asked.address} target="_blank" rel="noopener noreferrer">
            Sign in at {new URL(asked.address).host}
          </a>
          , then paste the address you are sent back to.
        </p>
      )}
      {isAnswered ? (
        <p className="quiet">Answered.</p>
      ) : (
        <form className="request-form" onSubmit={submit}>
          <input className="field" required autoComplete="off" type={asked.address ? 'text' : 'password'} aria-label={asked.prompt} placeholder={asked.prompt} value={text} onChange={(event) => setText(event.target.value)} />
          <button className="button" data-look="primary" disabled={!conversation || isSent} title={reason}>
            Hand it over
          </button>
        </form>
      )}
      <details>
        <summary className="quiet">What was asked</summary>
        <Json value={request} open={2} />
      </details>
    </div>
  );
}
