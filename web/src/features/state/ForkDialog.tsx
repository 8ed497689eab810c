/** Fork & run: a new session goes on from this moment, with another message or changed state. It calls the model. */
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { explain } from '../../app/server';
import type { Film } from '../../film/film';
import { forkAndOpen } from '../../film/fork';
import { stepNumber } from '../tree/steps';
import { Icon } from '../../ui/Icon';
import { plural } from '../../ui/format';
import { changeOf, type Edits } from './KeyEditor';

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
      const change = edits.size ? changeOf(edits) : delta ? { stateDelta: delta } : {};
      await forkAndOpen(film, at, message, change, 'state');
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
          <Icon name="branch" /> {`Fork from step ${stepNumber(film, at).number}`}
        </h2>
        <p>
          Creates a new session with the history, state and artifacts at this step, and continues from there. This calls
          the model. The current run does not change.
        </p>
        <label>
          Message <span className="muted">(optional)</span>
          <textarea className="field" rows={3} value={message} onChange={(event) => setMessage(event.target.value)} />
        </label>
        {edits.size ? (
          <Changes edits={edits} />
        ) : (
          <label>
            State changes <span className="muted">(optional JSON object)</span>
            <textarea
              className="field mono"
              rows={3}
              spellCheck={false}
              placeholder={'{"topic": "trails"}'}
              value={state}
              onChange={(event) => setState(event.target.value)}
            />
          </label>
        )}
        {error && (
          <p className="notice" data-kind="error" role="alert">
            <Icon name="error" /> {error}
          </p>
        )}
        <div className="buttons">
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="button" data-look="primary" disabled={sending}>
            {sending ? 'Starting…' : 'Fork & run'}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const LONGEST = 200;

function Changes({ edits }: { edits: Edits }) {
  return (
    <ul className="fork-changes" aria-label="State changes">
      {[...edits].map(([key, value]) => (
        <li key={key}>
          <code>{key}</code>{' '}
          {value === undefined ? (
            'is removed'
          ) : (
            <>
              becomes <code>{JSON.stringify(value).slice(0, LONGEST)}</code>
            </>
          )}
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
    return `State changes must be a JSON object, such as {"topic": "trails"}, got ${Array.isArray(value) ? `a list of ${plural(value.length, 'item')}` : JSON.stringify(value)}.`;
  } catch (error) {
    return `State changes must be valid JSON: ${error instanceof Error ? error.message : String(error)}.`;
  }
}
