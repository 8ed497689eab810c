/** Values of the box that a researcher may change: a text, or a list of texts. */
import { useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';

type TextProps = { value: string; label: string; off: string | null; save(value: string): void };

export function EditableText({ value, label, off, save }: TextProps) {
  const [draft, setDraft] = useState<string | null>(null);
  if (draft === null) {
    return (
      <div className="editable">
        <p>{value || <span className="muted">none</span>}</p>
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          disabled={off !== null}
          title={off ?? `Edit: ${label}`}
          aria-label={`Edit: ${label}`}
          onClick={() => setDraft(value)}
        >
          <Icon name="edit" />
        </button>
      </div>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (draft.trim() !== value) save(draft.trim());
    setDraft(null);
  };
  return (
    <form className="editable" onSubmit={submit}>
      <textarea
        className="field"
        rows={2}
        autoFocus
        aria-label={label}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
      />
      <button type="submit" className="button">
        Save
      </button>
      <button type="button" className="button" data-look="quiet" onClick={() => setDraft(null)}>
        Cancel
      </button>
    </form>
  );
}

type ListProps = { items: string[]; label: string; add: string; off: string | null; save(items: string[]): void };

export function EditableList({ items, label, add, off, save }: ListProps) {
  const [draft, setDraft] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!draft.trim()) return;
    save([...items, draft.trim()]);
    setDraft('');
  };
  return (
    <>
      <ul className="entries" aria-label={label}>
        {items.map((item, index) => (
          <li key={`${index} ${item}`}>
            <span>{item}</span>
            {off === null && (
              <button
                type="button"
                className="button"
                data-look="quiet"
                data-square=""
                aria-label={`Remove: ${item}`}
                title="Remove"
                onClick={() => save(items.filter((_, place) => place !== index))}
              >
                <Icon name="cross" />
              </button>
            )}
          </li>
        ))}
        {items.length === 0 && <li className="muted">none</li>}
      </ul>
      {off === null && (
        <form className="add" onSubmit={submit}>
          <input
            className="field"
            placeholder={add}
            aria-label={add}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
          />
          <button type="submit" className="button" data-look="quiet" disabled={!draft.trim()}>
            Add
          </button>
        </form>
      )}
    </>
  );
}
