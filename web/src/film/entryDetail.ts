/** One entry seen closely, as the server writes it (`pipeline/entry_detail.py`). */
import { useEffect, useState } from 'react';
import { path } from '../app/serverUrl';
import { explain } from '../app/problem';
import { getJson } from '../app/request';
import type { Json } from './document';
import { shared } from './sharedFile';
import * as words from '../words/film';

export type Frame = { position: string; event?: string; data: Json };
export type ShownFact = { fact: string; is: { [field: string]: Json } };
export type EntryDetail = {
  cursor: number;
  time: number;
  type: string;
  record: Json;
  facts: ShownFact[];
  frames: Record<string, Frame[]>;
};

export type EntryDetailState =
  | { kind: 'loading' }
  | { kind: 'there'; closeup: EntryDetail }
  | { kind: 'missing'; why: string };

const LOADING: EntryDetailState = { kind: 'loading' };
const KEPT = 200; // Scrubbing to and fro asks for the same ones again.
const known = new Map<string, EntryDetail>();
const SETTLED_MS = 60; // While the playhead moves, nothing is fetched.

/** Return the entry at a cursor, once the playhead rests there. */
export function useEntryDetail(run: string, at: number): EntryDetailState {
  const id = `${run} ${at}`;
  const [loaded, setLoaded] = useState<{ id: string; state: EntryDetailState }>({ id: '', state: LOADING });
  useEffect(() => {
    if (shared() || known.has(id)) return;
    const leaving = new AbortController();
    const load = async () => {
      try {
        keep(id, await getJson<EntryDetail>(path('api', 'runs', run, 'entries', String(at)), leaving.signal));
        setLoaded({ id, state: LOADING });
      } catch (error) {
        if (!leaving.signal.aborted) setLoaded({ id, state: { kind: 'missing', why: explain(error) } });
      }
    };
    const timer = setTimeout(load, SETTLED_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [id, run, at]);
  const embedded = shared();
  if (embedded) return embeddedAt(embedded.entries[at]);
  const closeup = known.get(id);
  if (closeup) return { kind: 'there', closeup };
  return loaded.id === id ? loaded.state : LOADING;
}

function embeddedAt(closeup: EntryDetail | undefined): EntryDetailState {
  if (closeup) return { kind: 'there', closeup };
  return { kind: 'missing', why: words.fileContainsOnlyPart };
}

function keep(id: string, closeup: EntryDetail): void {
  known.set(id, closeup);
  if (known.size > KEPT) known.delete(known.keys().next().value!);
}
