/** Searches with a name: some that everybody needs, and those that a person has saved on this device. */
import { useState, type FormEvent } from 'react';
import { formatRoute, HOME } from '../../app/route';
import { Icon } from '../../ui/Icon';
import { fieldsOf, type Fields } from './filters';

export type View = { name: string; fields: Fields };

const GIVEN: readonly View[] = [
  { name: 'All', fields: {} },
  { name: 'Failed', fields: { outcome: 'failed' } },
  { name: 'Waiting for you', fields: { outcome: 'waiting' } },
  { name: 'Last 24 hours', fields: { since: '1d' } },
];

const KEY = 'prism:views';
const MOST = 30;
const LONGEST_NAME = 40;

export function readViews(text: string | null): View[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(found)) return [];
    return found.filter(isView).slice(0, MOST);
  } catch {
    return []; // Somebody else wrote it.
  }
}

function isView(value: unknown): value is View {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('fields' in value)) return false;
  const { name, fields } = value;
  if (typeof name !== 'string' || !name || typeof fields !== 'object' || fields === null) return false;
  return Object.values(fields).every((field) => typeof field === 'string');
}

function stored(): View[] {
  try {
    return readViews(localStorage.getItem(KEY));
  } catch {
    return []; // Storage is switched off.
  }
}

export function linkToView({ fields }: View): string {
  return formatRoute({ ...HOME, place: { kind: 'search' }, options: fieldsOf(fields) });
}

/** Tell whether two searches are the same, whatever the order of their fields. */
export function isSame(a: Fields, b: Fields): boolean {
  const text = (fields: Fields) => JSON.stringify(Object.entries(fieldsOf(fields)).sort());
  return text(a) === text(b);
}

/** Return the saved views, and what changes them. */
export function useSavedViews(): { saved: View[]; save(view: View): boolean; remove(name: string): void } {
  const [saved, setSaved] = useState(stored);
  const keep = (next: View[]) => {
    setSaved(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // Kept as long as the page is open.
    }
  };
  return {
    saved,
    save: (view) => {
      const others = saved.filter(({ name }) => name !== view.name);
      if (others.length >= MOST) return false;
      keep([...others, view]);
      return true;
    },
    remove: (gone) => keep(saved.filter(({ name }) => name !== gone)),
  };
}

export function SavedViews({ fields, views }: { fields: Fields; views: ReturnType<typeof useSavedViews> }) {
  const { saved, save, remove } = views;
  const [isNaming, setNaming] = useState(false);
  const [problem, setProblem] = useState('');
  const isKnown = [...GIVEN, ...saved].some((view) => isSame(view.fields, fields));
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name') ?? '').trim();
    if (!name) return;
    const isSaved = save({ name, fields: fieldsOf(fields) });
    setProblem(isSaved ? '' : `${MOST} views are saved, the limit. Remove one first.`);
    setNaming(!isSaved);
  };
  return (
    <nav className="views" aria-label="Views">
      {GIVEN.map((view) => (
        <ViewLink key={view.name} view={view} fields={fields} />
      ))}
      {saved.map((view) => (
        <span key={view.name} className="view-saved">
          <ViewLink view={view} fields={fields} />
          <button
            type="button"
            className="chip-remove"
            aria-label={`Remove view ${view.name}`}
            title="Remove this view"
            onClick={() => remove(view.name)}
          >
            <Icon name="cross" />
          </button>
        </span>
      ))}
      {!isKnown && !isNaming && (
        <button type="button" className="button" data-look="quiet" onClick={() => setNaming(true)}>
          <Icon name="plus" /> Save view
        </button>
      )}
      {!isKnown && isNaming && (
        <form onSubmit={submit} className="view-form">
          <input
            className="field"
            name="name"
            aria-label="Name of this view"
            placeholder="Name of this view"
            maxLength={LONGEST_NAME}
            required
            autoFocus
            onKeyDown={({ key }) => key === 'Escape' && setNaming(false)}
          />
          <button type="submit" className="button" data-look="primary">
            Save
          </button>
          <button type="button" className="button" data-look="quiet" onClick={() => setNaming(false)}>
            Cancel
          </button>
          {problem && <span role="alert">{problem}</span>}
        </form>
      )}
    </nav>
  );
}

function ViewLink({ view, fields }: { view: View; fields: Fields }) {
  return (
    <a className="view" href={linkToView(view)} aria-current={isSame(view.fields, fields) ? 'page' : undefined}>
      {view.name}
    </a>
  );
}
