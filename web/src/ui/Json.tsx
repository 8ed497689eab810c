/** JSON that folds by depth and says how large each fold is. Bounded: long lists and texts open in pieces. */
import { memo, useState, type ReactNode } from 'react';
import { plural, size } from './format';

const ITEMS_SHOWN = 100; // More of them at once makes the browser, and the reader, slow.
const CHARS_SHOWN = 2000;
const CHARS_FOLDED = 60;

type Props = { value: unknown; name?: string; open?: number };

/** Show a value; folds down to the depth `open` begin open. */
export const JsonView = memo(function JsonView({ value, name, open = 1 }: Props) {
  return (
    <div className="json">
      <Node value={value} name={name} open={open} />
    </div>
  );
});

function Node({ value, name, open }: { value: unknown; name?: string; open: number }) {
  const label = name === undefined ? null : <span className="key">{name}: </span>;
  const entries = entriesOf(value);
  if (entries === null || entries.length === 0) {
    return (
      <div className="leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  return <Fold label={label} value={value} entries={entries} open={open} />;
}

type FoldProps = { label: ReactNode; value: unknown; entries: [string, unknown][]; open: number };

function Fold({ label, value, entries, open }: FoldProps) {
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(ITEMS_SHOWN);
  const left = entries.length - shown;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span className="size">
          {isOpen ? measure(value, entries) : `${preview(value)} ${measure(value, entries)}`}
        </span>
      </summary>
      {isOpen && (
        <ul>
          {entries.slice(0, shown).map(([key, item]) => (
            <li key={key}>
              <Node value={item} name={key} open={open - 1} />
            </li>
          ))}
          {left > 0 && (
            <li>
              <button type="button" className="more" onClick={() => setShown(shown + ITEMS_SHOWN * 10)}>
                {plural(left, 'more')}
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={kindOf(value)}>{plain(value)}</span>;
  const cut = !whole && value.length > CHARS_SHOWN;
  return (
    <span className="string">
      {`"${cut ? value.slice(0, CHARS_SHOWN) : value}"`}
      {cut && (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          {`all ${size(value.length)}`}
        </button>
      )}
    </span>
  );
}

function entriesOf(value: unknown): [string, unknown][] | null {
  if (Array.isArray(value)) return value.map((item, index) => [String(index), item]);
  return typeof value === 'object' && value !== null ? Object.entries(value) : null;
}

function kindOf(value: unknown): string {
  return value === null || value === undefined ? 'null' : typeof value;
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return '[]';
  return typeof value === 'object' && value !== null ? '{}' : String(value);
}

function measure(value: unknown, entries: unknown[]): string {
  return Array.isArray(value) ? plural(entries.length, 'item') : plural(entries.length, 'key');
}

/** Show the first scalars of a fold, so that it need not be opened to be recognised. */
function preview(value: unknown): string {
  if (Array.isArray(value)) return '[…]';
  const words: string[] = [];
  for (const [key, item] of Object.entries(value as object).slice(0, 3)) {
    words.push(typeof item === 'object' && item !== null ? key : `${key}: ${String(item)}`);
  }
  const text = words.join(', ');
  return `{ ${text.length > CHARS_FOLDED ? `${text.slice(0, CHARS_FOLDED)}…` : text} }`;
}
