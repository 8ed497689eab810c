/** A key of the state while it is edited: JSON that is checked, or the key taken out. */
import { useState, type FormEvent } from 'react';
import type { Json } from '@adk-prism/client/film';
import { sameJson } from '../../film/state';

// Changes of the state that a person made in the panel: nothing is changed before a fork is made with them.

/** Where two JSON values differ: the paths, with what was there before and after. Pure, and bounded. */
type Difference = { path: string; before?: Json; after?: Json };

export const MOST = 100; // Nobody reads more; the values themselves are shown beside.

/** Return the innermost places that differ, at most `MOST` and one more to tell that there are others. */
export function diffJson(before: Json | undefined, after: Json | undefined, path = ''): Difference[] {
  const found: Difference[] = [];
  collect(before, after, path, found);
  return found;
}

function collect(before: Json | undefined, after: Json | undefined, path: string, found: Difference[]): void {
  if (found.length > MOST) return;
  if (before !== undefined && after !== undefined && sameJson(before, after)) return;
  const [old, now] = [childrenOf(before), childrenOf(after)];
  if (!old || !now || Array.isArray(before) !== Array.isArray(after)) {
    found.push({ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) });
    return;
  }
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    collect(
      old.get(name),
      now.get(name),
      Array.isArray(before) ? `${path}[${name}]` : path ? `${path}.${name}` : name,
      found,
    );
  }
}

function childrenOf(value: Json | undefined): Map<string, Json> | null {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : null;
}

/** By key: its new value; undefined where it is taken out. */
export type Edits = ReadonlyMap<string, Json | undefined>;

export const NO_EDITS: Edits = new Map();

/** What the server takes with a fork. */
type StateChange = { stateDelta?: Record<string, Json>; removeState?: string[] };

export function changeOf(edits: Edits): StateChange {
  const set = [...edits].filter((edit): edit is [string, Json] => edit[1] !== undefined);
  const removed = [...edits].flatMap(([key, value]) => (value === undefined ? [key] : []));
  return {
    ...(set.length ? { stateDelta: Object.fromEntries(set) } : {}),
    ...(removed.length ? { removeState: removed } : {}),
  };
}

const RESERVED = ['app:', 'user:', 'temp:', '_adk'];

/** Say why a key cannot be set in a fork; empty if it can, as far as the page knows. */
export function whyNotKey(key: string): string {
  if (!key) return 'A key needs a name.';
  const prefix = RESERVED.find((each) => key.startsWith(each));
  return prefix ? `Keys that begin with ${prefix} are shared or temporary: a fork cannot set them.` : '';
}

/** Read a value; the reason if it is none. */
export function readValue(text: string): { value: Json } | { why: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return {
      why: `The value must be valid JSON: ${error instanceof Error ? error.message : String(error)}. A text stands in quotes.`,
    };
  }
}

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
  if (text.length > LARGEST)
    return (
      <p className="muted">
        This value is too large to be edited here. Send it as stateDelta with POST /api/runs/…/fork.
      </p>
    );
  return (
    <form className="key-editor" onSubmit={submit}>
      {name === null && (
        <input
          className="field mono"
          aria-label="Name of the key"
          placeholder="key"
          autoFocus
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      )}
      <textarea
        className="field mono"
        aria-label={name === null ? 'Value as JSON' : `Value of ${name} as JSON`}
        rows={Math.min(12, text.split('\n').length + 1)}
        spellCheck={false}
        autoFocus={name !== null}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {why && (
        <p className="notice" data-kind="error" role="alert">
          {why}
        </p>
      )}
      <div className="buttons">
        {name !== null && value !== undefined && (
          <button type="button" className="button" data-look="quiet" onClick={() => keep(name, undefined)}>
            Remove key
          </button>
        )}
        <button type="button" className="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" className="button" data-look="primary">
          Keep change
        </button>
      </div>
    </form>
  );
}
