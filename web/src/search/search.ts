/** A search over runs: its fields, which are options of the address, and its pages. */
import { address } from '../app/serverUrl';
import { call } from '../app/identity';
import { problemOf } from '../app/problem';
import { HOME, formatRoute } from '../app/route';
import type { Outcome } from '../film/document';
import * as words from '../words/search';

export type Fields = Readonly<Record<string, string>>;

export type FoundRun = {
  run: string;
  app: string;
  user: string;
  session: string;
  started: number;
  outcome: Outcome;
  title: string;
  tools: string[];
  agents: string[];
  models: string[];
  errors: string[];
  tokens: number;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
  duration: number;
  match?: { in: string; excerpt: string };
};

export type Page = { runs: FoundRun[]; next: string | null; isPartial: boolean };

/** The fields beside the text, with what is shown for each. */
export const FILTERS: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['tool', words.tool, 'search_*'],
  ['agent', words.agent, ''],
  ['model', words.model, 'gemini*'],
  ['error', words.error, words.errorExample],
  ['state', words.stateKey, ''],
  ['feedback', words.feedback, words.upDownAnyNone],
  ['app', words.app, ''],
  ['minTokens', words.tokensFrom, '10000'],
  ['cost', words.cost, '0.1..0.5'],
  ['minDuration', words.secondsFrom, '30'],
  ['since', words.since, 'date'],
  ['until', words.until, 'date'],
];

const NAMES = ['text', 'outcome', 'maxTokens', 'maxDuration', ...FILTERS.map(([name]) => name)];

/** Return the fields of a search that an address has. */
export function fieldsOf(options: Fields): Fields {
  return Object.fromEntries(NAMES.flatMap((name) => (options[name] ? [[name, options[name]]] : [])));
}

/** Return the first page of a search, or the one that an answer named. */
export async function search(fields: Fields, next: string | null, signal: AbortSignal): Promise<Page> {
  const query = next ?? `?${new URLSearchParams({ ...fields, limit: '50' })}`;
  const response = await call(address(`api/runs${query}`), { signal });
  if (!response.ok) throw await problemOf(response);
  const link = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '');
  const isPartial = response.headers.get('x-prism-search') === 'partial';
  return { runs: (await response.json()) as FoundRun[], next: link?.[1] ?? null, isPartial };
}

/** Where a result leads: to the run, with what was looked for as its filter. */
export function linkToFound({ run }: FoundRun, fields: Fields): string {
  const plain = (name: string) => (fields[name]?.includes('*') ? '' : (fields[name] ?? ''));
  const within = plain('tool') ? `tool:${plain('tool')}` : plain('agent') ? `agent:${plain('agent')}` : fields.error ? 'kind:error' : '';
  const options = { find: fields.text ?? plain('state'), in: within };
  return formatRoute({ ...HOME, place: { kind: 'run', run }, options });
}
