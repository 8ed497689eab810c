/** A tool needs the person to sign in: where to go, and what to bring back. */
import { useEffect, useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { useActions, useRejectedAnswer } from '../ChatContext';
import { ClosedRequest, type RequestState } from '../PartView';

type Props = { id: string; request: unknown; state: RequestState };

export default function CredentialRequest({ id, request, state }: Props) {
  const { conversation, reason } = useActions();
  const [text, setText] = useState('');
  const [isSent, setSent] = useState(false);
  const refusal = useRejectedAnswer(id);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal makes the form usable again
  useEffect(() => setSent(false), [refusal]);
  const asked = signIn(request);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    void conversation?.answerRequest('credential', id, signedIn(asked, text.trim()));
  };
  if (state !== 'open')
    return <ClosedRequest id={id} icon="key" words="A tool asked you to sign in" state={state} details={request} />;
  return (
    <div role="group" className="request" data-kind="approval" aria-label="The agent asks you to sign in">
      <p className="request-head">
        <Icon name="key" />
        <strong>A tool needs you to sign in</strong>
      </p>
      {asked.address && (
        <p>
          <a href={asked.address} target="_blank" rel="noopener noreferrer">
            {`Sign in at ${new URL(asked.address).host}`}
          </a>
          , then paste the URL that you are redirected to.
        </p>
      )}
      {refusal && (
        <p className="failure" role="alert">
          {refusal.reason}
        </p>
      )}
      <form className="request-form" onSubmit={submit}>
        <input
          className="field"
          required
          autoComplete="off"
          type={asked.address ? 'text' : 'password'}
          aria-label={asked.prompt}
          placeholder={asked.prompt}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button" data-look="primary" disabled={!conversation || isSent} title={reason}>
          Continue
        </button>
      </form>
      <details>
        <summary className="quiet">Details</summary>
        <JsonView value={request} open={2} />
      </details>
    </div>
  );
}

/** ADK's sign-in requests: where the person signs in, and the answer that ADK's auth handling expects. */
type Tree = Record<string, unknown>;

export type SignIn = {
  config: Tree;
  /** Where to sign in; empty for a key or a password. */
  address: string;
  prompt: string;
};

export function signIn(request: unknown): SignIn {
  const outer = tree(request);
  const config = tree(outer.authConfig ?? outer.auth_config ?? outer);
  const credential = tree(config.exchangedAuthCredential ?? config.rawAuthCredential);
  const address = tree(credential.oauth2).authUri;
  const safe = typeof address === 'string' && /^https?:\/\//i.test(address) && URL.canParse(address) ? address : '';
  return { config, address: safe, prompt: safe ? 'Redirect URL' : promptFor(credential) };
}

function promptFor(credential: Tree): string {
  return credential.authType === 'apiKey' ? 'API key' : 'Token or key';
}

/** Return the request's own config with what the person brought back. */
export function signedIn({ config, address }: SignIn, text: string): Tree {
  const credential = tree(config.exchangedAuthCredential ?? config.rawAuthCredential);
  const exchanged = address
    ? { ...credential, oauth2: { ...tree(credential.oauth2), authResponseUri: text } }
    : credential.authType === 'http'
      ? { ...credential, http: { ...tree(credential.http), credentials: { token: text } } }
      : { ...credential, apiKey: text };
  return { ...config, exchangedAuthCredential: exchanged };
}

function tree(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {};
}
