/** The server has to know who this is: a token, and how long to keep it. Over whatever was being done, which waits. */
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { Icon } from '../ui/Icon';
import { decline, signIn, explain, Problem } from './server';
import './identity.css';

/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

export default function SignIn({ before }: { before: string | null }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [token, setToken] = useState('');
  const [stay, setStay] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(await tried(token.trim(), stay));
    setBusy(false);
  };
  return (
    <dialog className="dialog sign-in" ref={dialog} aria-labelledby="sign-in-title" onCancel={decline}>
      <form onSubmit={submit}>
        <h2 id="sign-in-title">
          <Icon name="key" /> {before ? 'Sign in again' : 'Sign in'}
        </h2>
        <p className="quiet">
          {before
            ? `Your sign-in as ${before} has expired. Sign in again to continue where you were.`
            : 'This server requires you to sign in. Ask its operator for a token.'}
        </p>
        <label>
          Token
          <input
            className="field"
            type="password"
            autoFocus
            required
            autoComplete="off"
            spellCheck={false}
            aria-invalid={problem !== ''}
            aria-describedby="sign-in-problem"
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <p id="sign-in-problem" data-kind="error" role="alert">
          {problem}
        </p>
        <label className="sign-in-stay">
          <input type="checkbox" checked={stay} onChange={(event) => setStay(event.target.checked)} />{' '}
          {'Stay signed in on this device'}
        </label>
        <p className="actions">
          <button type="button" className="button" data-look="quiet" onClick={decline}>
            Not now
          </button>
          <button type="submit" className="button" data-look="primary" disabled={isBusy}>
            Sign in
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** Try a token; return why it will not do. */
async function tried(token: string, stay: boolean): Promise<string> {
  if (!TOKEN.test(token)) return 'A token has no spaces and only ASCII characters. Check what you pasted.';
  try {
    await signIn(token, stay);
    return '';
  } catch (error) {
    return error instanceof Problem && error.status === 401 ? 'The server does not accept this token.' : explain(error);
  }
}
