/** What was sent to a model, and what it answered, as the server shows it (`features/model_calls/calls.py`). */
import { useServerData } from '../../app/query';
import { explain, Problem, path, getJson } from '../../app/server';
import type { Json } from '@adk-prism/client/film';
import { shared } from '../../film/sharedFile';

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
  /** The day of the prices by which it was computed. */
  pricesAsOf?: string;
  currency?: string;
  /** How many tokens a request to the model can have; absent where that is not known. */
  window?: number;
  /** What was too large to be kept whole. */
  cut?: string[];
};

type Compaction = {
  compaction: ModelCall;
  times: { startTimestamp?: number; endTimestamp?: number };
  /** The last call of the agent before it. */
  before: ModelCall | null;
};

/** Return the last compaction of the history before a call; null while or where there is none. */
export function useCompaction(run: string, cursor: number | null): Compaction | null {
  const load = (signal: AbortSignal) =>
    getJson<ModelCall[]>(`${path('api', 'runs', run)}/model-calls?cursor=${cursor}&compacted=true`, signal);
  const { data } = useServerData(['compaction', run, cursor], load, {
    enabled: cursor !== null && !shared(),
    staleTime: Infinity,
  });
  const [compaction, before = null] = data ?? [];
  if (!compaction) return null;
  return { compaction, times: (compaction.response?.compaction ?? {}) as Compaction['times'], before };
}

type ModelCallState = { kind: 'loading' } | { kind: 'there'; call: ModelCall } | { kind: 'missing'; why: string };

const LOADING: ModelCallState = { kind: 'loading' };

/**
 * Return the model call at a cursor, or the one of its agent before it, in this run or an earlier one; null where none
 * is asked for.
 */
export function useModelCall(
  run: string,
  cursor: number | null,
  which: 'this' | 'previous' = 'this',
): ModelCallState | null {
  const load = async (signal: AbortSignal) => {
    const query = `cursor=${cursor}${which === 'previous' ? '&previous=true' : ''}`;
    return (await getJson<ModelCall[]>(`${path('api', 'runs', run)}/model-calls?${query}`, signal))[0] ?? null;
  };
  const { data, error } = useServerData(['model call', run, cursor, which], load, {
    enabled: cursor !== null && !shared(),
    staleTime: Infinity,
  });
  if (cursor === null) return null;
  const call = (which === 'this' && shared()?.modelCalls?.find((each) => each.cursor === cursor)) || data;
  if (call) return { kind: 'there', call };
  if (shared()) return { kind: 'missing', why: 'This file does not contain what was sent to the model.' };
  if (error) return { kind: 'missing', why: whyNot(error) };
  return data === null ? { kind: 'missing', why: 'It is no longer in the log.' } : LOADING;
}

function whyNot(error: unknown): string {
  return error instanceof Problem && error.status === 403
    ? 'Only administrators can see what was sent to the model.'
    : explain(error);
}

/** What changed from one request to a model to the next one of the same agent. */
type Change = { what: string; before?: Json; after?: Json };
export type Difference = {
  /** How many messages both requests begin with. */
  same: number;
  added: (Content | null)[];
  removed: (Content | null)[];
  /** Of the instruction, the tools and the config. */
  changes: Change[];
};

export function differenceOf(before: ModelRequest, after: ModelRequest): Difference {
  const same = commonLength(before.contents, after.contents);
  return {
    same,
    added: after.contents.slice(same),
    removed: before.contents.slice(same),
    changes: [...configChanges(before.config, after.config), ...changesOf(toolsOf(before), toolsOf(after), 'tool ')],
  };
}

/** Return the messages of a request that a later one does not have anywhere. */
export function lostIn(before: ModelRequest, after: ModelRequest): (Content | null)[] {
  return before.contents.filter((each) => !after.contents.some((other) => isEqual(each, other)));
}

function configChanges(before: ModelRequest['config'], after: ModelRequest['config']): Change[] {
  return changesOf(new Map(Object.entries(before)), new Map(Object.entries(after)), '');
}

/** Return the tools by name: declared functions, and those of the model's provider by their kind. */
export function toolsOf({ tools }: ModelRequest): Map<string, Json> {
  const named = new Map<string, Json>();
  for (const tool of tools) {
    for (const [kind, value] of Object.entries(tool ?? {})) {
      if (kind !== 'functionDeclarations' || !Array.isArray(value)) named.set(kind, value);
      else for (const each of value) named.set(nameOf(each), each);
    }
  }
  return named;
}

function nameOf(declaration: Json): string {
  const name =
    typeof declaration === 'object' && declaration !== null && !Array.isArray(declaration) ? declaration.name : null;
  return typeof name === 'string' ? name : 'unnamed';
}

function changesOf(
  before: Map<string, Json | undefined>,
  after: Map<string, Json | undefined>,
  prefix: string,
): Change[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .filter((name) => !isEqual(before.get(name), after.get(name)))
    .map((name) => ({
      what: prefix + name,
      ...(before.has(name) ? { before: before.get(name)! } : {}),
      ...(after.has(name) ? { after: after.get(name)! } : {}),
    }));
}

function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const most = Math.min(one.length, other.length);
  let same = 0;
  while (same < most && isEqual(one[same], other[same])) same++;
  return same;
}

/** Both come from one server, which writes equal values alike. */
function isEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
