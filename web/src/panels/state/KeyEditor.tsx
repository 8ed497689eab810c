/** A key of the state while it is edited: JSON that is checked, or the key taken out. */
import { useState, type FormEvent } from 'react';
import type { Json } from '../../film/document';
import { readValue, whyNotKey } from './stateEdits';
import * as words from '../../words/state';

type Props = {
  /** Null: a new key, whose name is asked for. */
  name: string | null;
  value: Json | undefined;
  keep(key: string, value: Json | undefined): void;
  close(): void;
};

const LARGEST = 100_000; // Characters; a text field becomes slow.

export function KeyEditor({ name, value, keep, close }: Props) {
  const [key, setKey] = useState(name ?? '');
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [why, setWhy] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = readValue(text);
    const reason = whyNotKey(key) || ('why' in read ? read.why : '');
    if (reason) return setWhy(reason);
    keep(key, (read as { value: Json }).value);
  };
  if (text.length > LARGEST) return <p className="muted">{words.valueIsTooLarge}</p>;
  return (
    <form className="key-editor" onSubmit={submit}>
      {name === null && <input className="field mono" aria-label={words.nameOfTheKey} placeholder={words.key} autoFocus value={key} onChange={(event) => setKey(event.target.value)} />}
      <textarea className="field mono" aria-label={name === null ? words.valueAsJson : words.valueOfAsJson(name)} rows={Math.min(12, text.split('\n').length + 1)} spellCheck={false} autoFocus={name !== null} value={text} onChange={(event) => setText(event.target.value)} />
      {why && (
        <p className="notice" data-kind="error" role="alert">
          {why}
        </p>
      )}
      <div className="buttons">
        {name !== null && value !== undefined && (
          <button type="button" className="button" data-look="quiet" onClick={() => keep(name, undefined)}>
            {words.removeKey}
          </button>
        )}
        <button type="button" className="button" onClick={close}>
          {words.cancel}
        </button>
        <button type="submit" className="button" data-look="primary">
          {words.keepChange}
        </button>
      </div>
    </form>
  );
}
