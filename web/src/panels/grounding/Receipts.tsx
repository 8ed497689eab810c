/** The searches that were made, newest first. */
import { useState } from 'react';
import type { Json } from '../../film/document';
import type { Receipt } from '../../film/grounding';
import { duration, number, plural } from '../../ui/format';
import { EventLink } from '../EventLink';
import { fields, text } from './box';
import * as words from '../../words/grounding';

const SHOWN = 30;

export function Receipts({ receipts, seek }: { receipts: Receipt[]; seek(cursor: number): void }) {
  const [shown, setShown] = useState(SHOWN);
  const newest = receipts.toReversed();
  return (
    <section className="section" aria-label={words.receipts}>
      <h3>
        {words.receipts} <span className="count">{receipts.length}</span>
      </h3>
      {receipts.length === 0 && <p className="muted">{words.noSearchHasBeenMade}</p>}
      <ol className="receipts">
        {newest.slice(0, shown).map((receipt) => (
          <ReceiptRow key={`${receipt.number} ${receipt.since}`} receipt={receipt} seek={seek} />
        ))}
      </ol>
      {newest.length > shown && (
        <button type="button" className="button" data-look="quiet" onClick={() => setShown(shown + 100)}>
          {plural(newest.length - shown, words.olderReceipt)}
        </button>
      )}
    </section>
  );
}

function ReceiptRow({ receipt, seek }: { receipt: Receipt; seek(cursor: number): void }) {
  const warnings = Array.isArray(receipt.warnings) ? receipt.warnings.map(text) : [];
  const filters = Array.isArray(receipt.filters_applied) ? receipt.filters_applied.map(text) : [];
  const took = typeof receipt.duration_ms === 'number' && receipt.duration_ms > 0 ? duration(receipt.duration_ms / 1000) : '';
  return (
    <li>
      <div className="line">
        <time className="muted" title={text(receipt.timestamp)}>
          {receipt.time || text(receipt.timestamp)}
        </time>
        <b>{text(receipt.database)}</b>
        {receipt.mode ? <span className="muted">{text(receipt.mode)}</span> : null}
        <b className="found">{plural(Number(receipt.results_count), 'result')}</b>
        {receipt.new && <Delta />}
      </div>
      <code>{text(receipt.query)}</code>
      <div className="muted">
        {[
          typeof receipt.new_count === 'number' ? words.newCount(number(receipt.new_count)) : '',
          typeof receipt.total === 'number' ? words.theDatabase(number(receipt.total)) : '',
          receipt.preview ? words.shortRunTag : '',
          filters.join(', '),
          took,
          text(receipt.approval),
        ]
          .filter(Boolean)
          .join(' · ')}{' '}
        <EventLink cursor={receipt.since} seek={seek} />
      </div>
      <Breakdown title={words.byKind} counts={receipt.by_kind} />
      <Breakdown title={words.byYear} counts={receipt.by_year} />
      {warnings.map((warning) => (
        <div key={warning} className="warning" data-kind="approval">
          {warning}
        </div>
      ))}
      {receipt.next ? <div className="muted">{words.next(text(receipt.next))}</div> : null}
    </li>
  );
}

function Breakdown({ title, counts }: { title: string; counts: Json | undefined }) {
  const entries = Object.entries(fields(counts) ?? {});
  if (!entries.length) return null;
  return (
    <div className="muted">
      {title}: {entries.map(([name, count]) => `${name} ${text(count)}`).join(', ')}
    </div>
  );
}

/** What changed this turn. */
export function Delta() {
  return (
    <abbr className="delta" data-kind="state" title={words.changedInThisTurn}>
      Δ
    </abbr>
  );
}
