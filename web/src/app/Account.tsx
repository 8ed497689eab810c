/** Who is signed in, and the way out; or the way in. */
import { useId } from 'react';
import { Icon } from '../ui/Icon';
import { ask, hasToken, signOut, type Identity } from './identity';
import * as words from '../words/app';
import './identity.css';

export default function Account({ identity }: { identity: Identity }) {
  const id = useId();
  if (identity.kind === 'declined') {
    // What was refused meanwhile is all over the page.
    const start = () => void ask().then((isSignedIn) => isSignedIn && location.reload());
    return (
      <button type="button" className="button" onClick={start}>
        <Icon name="key" /> {words.signIn}
      </button>
    );
  }
  const user = identity.kind === 'known' ? identity.user : identity.kind === 'asking' ? identity.before : null;
  if (!user) return null;
  const face = (
    <>
      <Icon name="user" /> <span className="account-name">{user}</span>
    </>
  );
  // Whoever came in by a proxy leaves by it.
  if (!hasToken()) {
    return (
      <span className="account" title={words.signedInAs(user)}>
        {face}
      </span>
    );
  }
  return (
    <>
      <button type="button" className="button account" data-look="quiet" popoverTarget={id} aria-label={words.signedInAs(user)}>
        {face}
      </button>
      <div id={id} className="menu account-menu" popover="auto" role="group" aria-label={words.account}>
        <button type="button" onClick={signOut}>
          <Icon name="cross" /> {words.signOut}
        </button>
      </div>
    </>
  );
}
