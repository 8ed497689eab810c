/** The search of runs: one field for words and filters, with suggestions; each filter is a chip that can be removed. */
import { useId, useRef, useState, type KeyboardEvent } from 'react';
import { Icon } from '../../ui/Icon';
import {
  chipsOf,
  completed,
  suggestions,
  textIn,
  withTyped,
  type Fields,
  type Names,
  type Suggestion,
} from './filters';

type Props = { fields: Fields; names: Names; change(fields: Fields): void };

export function FilterBox({ fields, names, change }: Props) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useTyped(fields.text ?? '');
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const offered = isOpen ? suggestions(typed, names, fields) : [];
  const chips = chipsOf(fields);

  const write = (text: string) => {
    setTyped(text);
    setActive(-1);
    setOpen(true);
    if (textIn(text) !== (fields.text ?? '')) change({ ...fields, text: textIn(text) });
  };
  /** Make chips of what is typed as filters. */
  const commit = (text: string) => {
    const next = withTyped(fields, text);
    setTyped(next.text ?? '');
    setOpen(false);
    setActive(-1);
    change(next);
  };
  const choose = (suggestion: Suggestion) => {
    const text = completed(typed, suggestion);
    input.current?.focus();
    if (suggestion.isWhole) commit(text);
    else write(text);
  };
  const remove = (field: string) => {
    input.current?.focus();
    change({ ...fields, [field]: '' });
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step) {
      setOpen(true);
      const count = suggestions(typed, names, fields).length;
      if (count) setActive((at) => (at < 0 && step < 0 ? count - 1 : (at + step + count) % count));
    } else if (event.key === 'Enter') {
      if (offered[active]) choose(offered[active]);
      else commit(typed);
    } else if (event.key === 'Escape' && isOpen) {
      setOpen(false);
      setActive(-1);
    } else if (event.key === 'Backspace' && !typed && chips.length) {
      remove(chips.at(-1)!.field);
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <search className="filter-box">
      <div className="filter-field" data-open={offered.length > 0 || undefined}>
        <Icon name="search" />
        <ul className="filter-chips" aria-label="Filters">
          {chips.map(({ field, text }) => (
            <li key={field + text} className="chip" data-kind="neutral">
              <button
                type="button"
                title="Edit this filter"
                onClick={() => {
                  setTyped(`${typed} ${text}`.trim());
                  remove(field);
                }}
              >
                {text}
              </button>
              <button
                type="button"
                className="chip-remove"
                aria-label={`Remove filter ${text}`}
                title="Remove"
                onClick={() => remove(field)}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
        <input
          ref={input}
          role="combobox"
          aria-label="Search runs"
          aria-expanded={offered.length > 0}
          aria-controls={`${id}list`}
          aria-autocomplete="list"
          aria-activedescendant={offered[active] ? `${id}${active}` : undefined}
          autoComplete="off"
          spellCheck={false}
          autoFocus
          placeholder={chips.length ? 'Add words or filters' : 'Words, or filters such as outcome:failed'}
          value={typed}
          onChange={(event) => {
            const { value } = event.currentTarget;
            // A space ends a filter, as long as no quote is open.
            if (value.endsWith(' ') && value.length > typed.length && isFilterDone(value)) commit(value);
            else write(value);
          }}
          onClick={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
        />
      </div>
      <div
        id={`${id}list`}
        role="listbox"
        aria-label="Suggestions"
        className="filter-list"
        hidden={offered.length === 0}
        // The field keeps the focus.
        onPointerDown={(event) => event.preventDefault()}
      >
        {offered.map((suggestion, index) => (
          <div
            key={suggestion.text}
            id={`${id}${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => choose(suggestion)}
          >
            <code>{suggestion.text}</code> <span className="quiet">{suggestion.hint}</span>
          </div>
        ))}
      </div>
    </search>
  );
}

function isFilterDone(typed: string): boolean {
  return textIn(typed) !== typed.trim() && (typed.match(/"/g)?.length ?? 0) % 2 === 0 && !/[:<>]\s$/.test(typed);
}

/** What is typed; where the address has another text, as after going back, it is that. */
function useTyped(text: string): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(text);
  const [last, setLast] = useState(text);
  if (text !== last) {
    setLast(text);
    if (textIn(typed) !== text) setTyped(text);
  }
  return [typed, setTyped];
}
