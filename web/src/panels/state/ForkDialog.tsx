/** Fork & run: a new session goes on from this moment, with another message or changed state. It calls the model. */
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { path } from '../../app/serverUrl';
import { explain } from '../../app/problem';
import { postJson } from '../../app/request';
import { go, HOME } from '../../app/route';
import { isImported } from '../../film/isImported';
import type { Film } from '../../film/film';
import { shared } from '../../film/sharedFile';
import { Icon } from '../../ui/Icon';
import { plural } from '../../ui/format';
import { changeOf, type Edits } from './stateEdits';
import * as words from '../../words/state';

type Forked = { run: string; app: string; user: string; session: string; goesOn?: string; warnings?: string[]; missingArtifacts?: string[] };

/** Say why a run cannot be forked; null if it can. */
export function whyNoFork(film: Film, live: boolean): string | null {
  if (shared()) return words.sharedFileForkingNeeds;
  if (isImported(film)) return words.runWasRecordedElsewhereContinue;
  if (live) return words.runIsStillInProgress;
  return null;
}

type Props = { film: Film; at: number; edits: Edits; close(): void };

export function ForkDialog({ film, at, edits, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [message, setMessage] = useState('');
  const [state, setState] = useState('');
  const [error, setError] = useState('');
  const [sending, setSending] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const delta = readState(state);
    if (typeof delta === 'string') return setError(delta);
    setSending(true);
    setError('');
    try {
      const made = await postJson<Forked>(`${path('api', 'runs', film.run)}/fork`, {
        at,
        ...(message.trim() ? { newMessage: { role: 'user', parts: [{ text: message }] } } : {}),
        ...(edits.size ? changeOf(edits) : delta ? { stateDelta: delta } : {}),
      });
      // Where nothing was left to do, the new run is the change of the state, and no message.
      const options = { user: made.user === 'user' ? '' : made.user, changed: made.goesOn === 'nothing' ? made.run : '' };
      go({ ...HOME, place: { kind: 'chat', app: made.app, session: made.session }, panel: 'state', options });
      close();
    } catch (problem) {
      setError(explain(problem));
      setSending(false);
    }
  };

  return (
    <dialog className="dialog fork" ref={dialog} aria-labelledby="fork-title" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="fork-title">
          <Icon name="branch" /> {words.forkRunFromEvent(at)}
        </h2>
        <p>
          {words.createsANewSession}
        </p>
        <label>
          {words.message} <span className="muted">{words.optional}</span>
          <textarea className="field" rows={3} value={message} onChange={(event) => setMessage(event.target.value)} />
        </label>
        {edits.size ? (
          <Changes edits={edits} />
        ) : (
          <label>
            {words.stateChanges} <span className="muted">{words.optionalJsonObject}</span>
            <textarea className="field mono" rows={3} spellCheck={false} placeholder={words.stateExample} value={state} onChange={(event) => setState(event.target.value)} />
          </label>
        )}
        {error && (
          <p className="notice" data-kind="error" role="alert">
            <Icon name="error" /> {error}
          </p>
        )}
        <div className="buttons">
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            {words.cancel}
          </button>
          <button type="submit" className="button" data-look="primary" disabled={sending}>
            {sending ? words.starting : words.forkRun}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const LONGEST = 200;

function Changes({ edits }: { edits: Edits }) {
  return (
    <ul className="fork-changes" aria-label={words.stateChanges}>
      {[...edits].map(([key, value]) => (
        <li key={key}>
          <code>{key}</code> {value === undefined ? words.isRemoved : <>{words.becomes} <code>{JSON.stringify(value).slice(0, LONGEST)}</code></>}
        </li>
      ))}
    </ul>
  );
}

/** Read a state delta: an object, null for none, or a sentence that says what is wrong. */
function readState(text: string): Record<string, unknown> | null | string {
  if (!text.trim()) return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return words.stateChangesMust(Array.isArray(value) ? words.listOf(plural(value.length, 'item')) : JSON.stringify(value));
  } catch (error) {
    return words.stateChangesMustBeValid(error instanceof Error ? error.message : String(error));
  }
}
