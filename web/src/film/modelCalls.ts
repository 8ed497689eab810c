/** What was sent to a model, and what it answered, as the server shows it (`pipeline/model_calls.py`). */
import { useEffect, useState } from 'react';
import { explain, Problem } from '../app/problem';
import { getJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Json } from './document';
import { shared } from './sharedFile';
import * as words from '../words/film';

export type Content = { role?: string; parts?: { [kind: string]: Json }[] };
export type ModelRequest = {
  config: { systemInstruction?: Json; [name: string]: Json | undefined };
  contents: (Content | null)[];
  tools: { [kind: string]: Json }[];
};
export type ModelCall = {
  cursor: number;
  /** Of a call before another one: its run. */
  run?: string;
  agent: string;
  model: string;
  /** Null where only a summary was recorded. */
  request: ModelRequest | null;
  response: { [name: string]: Json } | null;
  /** Absent without a price list; null if the model has no price in it. */
  cost?: number | null;
  /** What was too large to be kept whole. */
  cut?: string[];
};

export type ModelCallState = { kind: 'loading' } | { kind: 'there'; call: ModelCall } | { kind: 'missing'; why: string };

const LOADING: ModelCallState = { kind: 'loading' };
const KEPT = 40; // Requests may be large.
const known = new Map<string, ModelCall>();

/** Return the model call at a cursor, or the one of its agent before it, in this run or an earlier one; null where none is asked for. */
export function useModelCall(run: string, cursor: number | null, which: 'this' | 'previous' = 'this'): ModelCallState | null {
  const id = `${run} ${cursor} ${which}`;
  const [loaded, setLoaded] = useState<{ id: string; state: ModelCallState }>({ id: '', state: LOADING });
  useEffect(() => {
    if (cursor === null || shared() || known.has(id)) return;
    const leaving = new AbortController();
    const load = async () => {
      try {
        const [call] = await getJson<ModelCall[]>(`${path('api', 'runs', run)}/model-calls?cursor=${cursor}${which === 'previous' ? '&previous=true' : ''}`, leaving.signal);
        if (call) keep(id, call);
        setLoaded({ id, state: call ? LOADING : { kind: 'missing', why: words.notInTheLogAny } });
      } catch (error) {
        if (!leaving.signal.aborted) setLoaded({ id, state: { kind: 'missing', why: whyNot(error) } });
      }
    };
    void load();
    return () => leaving.abort();
  }, [id, run, cursor, which]);
  if (cursor === null) return null;
  const call = (which === 'this' && shared()?.modelCalls?.find((each) => each.cursor === cursor)) || known.get(id);
  if (call) return { kind: 'there', call };
  if (shared()) return { kind: 'missing', why: words.fileDoesNotContainWhat };
  return loaded.id === id ? loaded.state : LOADING;
}

function whyNot(error: unknown): string {
  return error instanceof Problem && error.status === 403 ? words.onlyAdministratorsCanSeeWhat : explain(error);
}

function keep(id: string, call: ModelCall): void {
  known.set(id, call);
  if (known.size > KEPT) known.delete(known.keys().next().value!);
}
