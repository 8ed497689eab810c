/** The session's state at the playhead: by scope, with what changed, who wrote it, and every write of a key. */
import { memo, useMemo, useState, type ReactNode } from 'react';
import { useRoute } from '../../app/route';
import type { Json as JsonValue } from '@adk-prism/client/film';
import type { Film } from '../../film/film';
import {
  difference,
  historyOf,
  previousNodeEnd,
  scopeOf,
  snapshotAt,
  writersAt,
  type KeyChange,
  type Scope,
} from '../../film/state';
import { Copy } from '../../ui/Copy';
import { Breakable, Empty, EventLink, PanelHeader } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip, type Kind } from '../../ui/Kind';
import { eventNumber } from '../../film/events';
import { number, plural } from '../../ui/format';
import { useHead } from '../../ui/hooks';
import '../../style/panels.css';
import { type PanelProps, keyOf, selectionOf } from '../feature';
import { diffJson, MOST, NO_EDITS, type Edits, KeyEditor } from './KeyEditor';
import { whyNoFork } from '../../film/fork';
import { ForkDialog } from './ForkDialog';
import './state.css';

const SCOPES: Record<Scope, string> = {
  session: 'Session: this conversation',
  user: 'User: all sessions of the user',
  app: 'App: all users',
  temp: 'Temporary: this run only',
};
const SHOWN = 200; // Keys; the filter finds the others.
const NEW = ''; // In the place of the key that is edited: one that is not there yet.
const AT_ONCE = 40; // More than fit on a screen; the others follow.

type Baseline = { label: string; cursor: number };

const eventWords = (film: Film, cursor: number) => `event ${number(eventNumber(film, cursor))}`;

function baselineOf(film: Film, at: number, chosen: string): Baseline {
  if (chosen === 'start') return { label: 'the start', cursor: 1 };
  const cursor = Number(chosen);
  if (Number.isInteger(cursor) && cursor >= 1 && cursor <= film.last)
    return { label: eventWords(film, cursor), cursor };
  return { label: 'the previous node', cursor: previousNodeEnd(film, at) };
}

export default function StatePanel({ film, at, selected, select, seek, live }: PanelProps) {
  const [{ options }, move] = useRoute();
  const [filter, setFilter] = useState('');
  const [forking, setForking] = useState(false);
  const [edits, setEdits] = useState(NO_EDITS);
  const [editing, setEditing] = useState<string | null>(null);
  const chosen = options.since ?? '';
  const baseline = baselineOf(film, at, chosen);
  const compare = (since: string) => move({ options: { ...options, since } }, 'replace');
  const rows = useMemo(() => rowsAt(film, at, baseline.cursor), [film, at, baseline.cursor]);
  const found = rows.filter((row) => row.key.toLowerCase().includes(filter.toLowerCase()));
  const changed = rows.filter((row) => row.change).length;
  const key = selected === null ? null : keyOf(selected);
  const noFork = whyNoFork(film, live);
  const keep = (name: string, value: JsonValue | undefined) => {
    setEdits(new Map(edits).set(name, value));
    setEditing(null);
  };

  return (
    <section className="panel state-panel" aria-label="State">
      <PanelHeader title="State" count={plural(rows.filter((row) => row.value !== undefined).length, 'key')}>
        <button
          type="button"
          className="button"
          data-look="quiet"
          disabled={noFork !== null}
          title={noFork ?? 'Continue from here in a new session; calls the model'}
          onClick={() => setForking(true)}
        >
          <Icon name="branch" /> Fork from here
        </button>
        <button
          type="button"
          className="button"
          data-look="quiet"
          disabled={noFork !== null}
          title={noFork ?? 'Fork with one more key'}
          onClick={() => setEditing(NEW)}
        >
          <Icon name="plus" /> Add key
        </button>
        <Copy label="Copy state as JSON" text={() => JSON.stringify(snapshotAt(film, at), null, 2)} />
      </PanelHeader>
      <div className="compare">
        <label>
          Compared with
          <select
            className="field"
            value={chosen === 'start' || chosen === '' ? chosen : 'event'}
            onChange={(event) => compare(event.target.value === 'event' ? String(at) : event.target.value)}
          >
            <option value="">{`the previous node (${eventWords(film, previousNodeEnd(film, at))})`}</option>
            <option value="start">the start</option>
            <option value="event">
              {chosen && chosen !== 'start' ? baseline.label : 'Use this event as baseline'}
            </option>
          </select>
        </label>
        <span className="muted" role="status">
          {changed ? `${plural(changed, 'change')} since ${baseline.label}` : `No change since ${baseline.label}`}
        </span>
        <input
          type="search"
          className="field"
          placeholder="Filter keys"
          aria-label="Filter keys"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      {edits.size > 0 && <EditBar edits={edits} fork={() => setForking(true)} discard={() => setEdits(NO_EDITS)} />}
      {editing === NEW && <KeyEditor name={null} value={undefined} keep={keep} close={() => setEditing(null)} />}
      <div className="body" tabIndex={0} role="region" aria-label="Keys">
        {rows.length === 0 && (
          <Empty title="No state yet">Keys appear when an agent or a tool writes to the session's state.</Empty>
        )}
        {(Object.keys(SCOPES) as Scope[]).map((scope) => (
          <ScopeSection
            key={scope}
            title={SCOPES[scope]}
            rows={found.filter((row) => row.scope === scope)}
            film={film}
            at={at}
            open={key}
            select={select}
            seek={seek}
            edit={noFork === null && scope === 'session' ? { edits, editing, setEditing, keep } : null}
          />
        ))}
        {rows.length > 0 && found.length === 0 && <Empty title={`No key has “${filter}” in its name`} />}
      </div>
      {forking && <ForkDialog film={film} at={at} edits={edits} close={() => setForking(false)} />}
    </section>
  );
}

type EditBarProps = { edits: Edits; fork(): void; discard(): void };

/** What will be different in the fork. */
function EditBar({ edits, fork, discard }: EditBarProps) {
  return (
    <div className="notice edit-bar" data-kind="state" role="status">
      <span>
        {plural(edits.size, 'change')}: <b>{[...edits.keys()].slice(0, 5).join(', ')}</b>. This run stays as it is.
      </span>
      <span className="actions">
        <button type="button" className="button" onClick={discard}>
          Discard
        </button>
        <button type="button" className="button" data-look="primary" onClick={fork}>
          Fork with {edits.size === 1 ? 'this change' : 'these changes'}
        </button>
      </span>
    </div>
  );
}

type Row = { key: string; scope: Scope; value: JsonValue | undefined; writer: string; change: KeyChange | undefined };

/** Return the keys at a cursor and those that went since the baseline, in the order of first sight. */
function rowsAt(film: Film, at: number, since: number): Row[] {
  const values = new Map(Object.values(snapshotAt(film, at)).flatMap((scope) => Object.entries(scope)));
  const changes = new Map(difference(film, since, at).map((change) => [change.key, change]));
  const writers = new Map(Object.entries(writersAt(film, at)));
  return film.items.keys
    .map(({ is }) => is.key)
    .filter((key) => values.has(key) || changes.has(key))
    .map((key) => ({
      key,
      scope: scopeOf(key),
      value: values.get(key),
      writer: writers.get(key) ?? '',
      change: changes.get(key),
    }));
}

type SectionProps = {
  title: string;
  rows: Row[];
  film: Film;
  at: number;
  open: string | null;
  select(id: string | null): void;
  seek(cursor: number): void;
  /** Null where nothing can be edited. */
  edit: {
    edits: Edits;
    editing: string | null;
    setEditing(key: string | null): void;
    keep(key: string, value: JsonValue | undefined): void;
  } | null;
};

function ScopeSection({ title, rows, open, edit, ...rest }: SectionProps) {
  const shown = Math.min(SHOWN, useHead(rows.length, AT_ONCE));
  if (!rows.length) return null;
  return (
    <section className="section scope" aria-label={title}>
      <h3>
        {title} <span className="count">{rows.length}</span>
      </h3>
      <ul>
        {rows.slice(0, shown).map((row) => (
          <KeyRow
            key={row.key}
            row={row}
            writes={open === row.key ? <Writes {...rest} name={row.key} /> : null}
            select={rest.select}
            setEditing={edit?.setEditing}
            edited={edit?.edits.has(row.key) ? edited(edit.edits.get(row.key)) : ''}
            editor={
              edit?.editing === row.key ? (
                <KeyEditor
                  name={row.key}
                  value={edit.edits.get(row.key) ?? row.value}
                  keep={edit.keep}
                  close={() => edit.setEditing(null)}
                />
              ) : null
            }
          />
        ))}
      </ul>
      {rows.length > SHOWN && (
        <p className="muted">{`${plural(rows.length - SHOWN, 'more key')}: filter to see them.`}</p>
      )}
    </section>
  );
}

const CHANGES: Record<KeyChange['kind'], { kind: Kind; sign: string }> = {
  added: { kind: 'state', sign: '+' },
  changed: { kind: 'approval', sign: '~' },
  removed: { kind: 'error', sign: '−' },
};

type RowProps = {
  row: Row;
  writes: ReactNode;
  select(id: string | null): void;
  setEditing: ((key: string | null) => void) | undefined;
  /** What it becomes in the fork; empty: it stays. */
  edited: string;
  editor: ReactNode;
};

function edited(value: JsonValue | undefined): string {
  return value === undefined ? 'removed' : short(value);
}

/** A row is drawn again when its key was written, not whenever the playhead moves. */
const KeyRow = memo(function KeyRow({ row, writes, select, setEditing, edited, editor }: RowProps) {
  const open = writes !== null;
  const change = row.change && CHANGES[row.change.kind];
  return (
    <li className="key-row" data-kind={change?.kind} data-open={open || undefined}>
      <div className="head">
        <button
          type="button"
          className="link name"
          aria-expanded={open}
          title="Show every write"
          onClick={() => select(open ? null : selectionOf(row.key))}
        >
          <Breakable name={row.key} />
        </button>
        {change && (
          <span className="change">
            {change.sign} {row.change!.kind}
          </span>
        )}
        <span className="writer muted">
          {row.writer === 'start' ? (
            'before the run'
          ) : (
            <>
              by{' '}
              <button type="button" className="link" onClick={() => select(row.writer)}>
                {row.writer}
              </button>
            </>
          )}
        </span>
        {setEditing && row.value !== undefined && (
          <button
            type="button"
            className="button edit-key"
            data-look="quiet"
            data-square=""
            aria-label={`Edit ${row.key}`}
            title="Edit in a fork"
            onClick={() => setEditing(row.key)}
          >
            <Icon name="edit" />
          </button>
        )}
      </div>
      {row.change?.kind === 'changed' ? <Changes change={row.change} /> : null}
      {edited && <p className="edited">{`In the fork: ${edited}`}</p>}
      {editor}
      {editor === null && row.value !== undefined && (
        <JsonView value={row.value} open={row.change?.kind === 'changed' || isLarge(row.value) ? 0 : 1} />
      )}
      {writes}
    </li>
  );
}, isSameRow);

function isSameRow(before: RowProps, after: RowProps): boolean {
  const [old, row] = [before.row, after.row];
  const isSame =
    old.value === row.value &&
    old.writer === row.writer &&
    old.change?.kind === row.change?.kind &&
    old.change?.before === row.change?.before;
  return (
    isSame &&
    before.edited === after.edited &&
    before.editor === after.editor &&
    before.setEditing === after.setEditing &&
    before.writes === after.writes &&
    before.select === after.select
  );
}

function Changes({ change }: { change: KeyChange }) {
  const differences = diffJson(change.before, change.after);
  return (
    <ul className="diff" aria-label={`What changed in ${change.key}`}>
      {differences.slice(0, MOST).map(({ path, before, after }) => (
        <li key={path}>
          {path && <span className="path">{path}</span>}
          {before !== undefined && <del data-kind="error">− {short(before)}</del>}
          {after !== undefined && <ins data-kind="state">+ {short(after)}</ins>}
        </li>
      ))}
      {differences.length > MOST && <li className="muted">and more</li>}
    </ul>
  );
}

/** Of a large value only the beginning is seen at first, so that the keys can be looked over. */
function isLarge(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 6;
}

const LONGEST = 400;

function short(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

type WritesProps = { film: Film; at: number; name: string; seek(cursor: number): void };

function Writes({ film, at, name, seek }: WritesProps) {
  const writes = historyOf(film, name);
  const shown = writes.slice(-SHOWN);
  return (
    <div className="writes">
      <h4>
        <KindChip kind="state">{plural(writes.length, 'write')}</KindChip>
      </h4>
      <ol>
        {shown.map((write) => (
          <li key={write.cursor} data-later={write.cursor > at || undefined}>
            <EventLink cursor={write.cursor} seek={seek} />
            <span className="muted">{write.writer === 'start' ? 'before the run' : write.writer}</span>
            <code>{'removed' in write ? 'removed' : short(write.value)}</code>
          </li>
        ))}
      </ol>
    </div>
  );
}
