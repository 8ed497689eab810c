/** Who is signed in, and the way out; or the way in. */
import { useId } from 'react';
import { Icon } from '../ui/Icon';
import { ask, hasToken, signOut, type Identity } from './server';
import './identity.css';

export default function Account({ identity }: { identity: Identity }) {
  const id = useId();
  if (identity.kind === 'declined') {
    // What was refused meanwhile is all over the page.
    const start = () => void ask().then((isSignedIn) => isSignedIn && location.reload());
    return (
      <button type="button" className="button" onClick={start}>
        <Icon name="key" /> Sign in
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
      <span className="account" title={`Signed in as ${user}`}>
        {face}
      </span>
    );
  }
  return (
    <>
      <button
        type="button"
        className="button account"
        data-look="quiet"
        popoverTarget={id}
        aria-label={`Signed in as ${user}`}
      >
        {face}
      </button>
      <div id={id} className="menu account-menu" popover="auto" role="group" aria-label="Account">
        <button type="button" onClick={signOut}>
          <Icon name="cross" /> Sign out
        </button>
      </div>
    </>
  );
}
