/** Runs that a search found, as `GET /api/runs` and `GET /api/trends` answer them. */
import type { Outcome } from '@adk-prism/client/film';
import { formatRoute, HOME } from '../../app/route';
import { address, call, getJson, problemOf } from '../../app/server';
import type { Fields, Names } from './filters';

export type FoundRun = {
  run: string;
  app: string;
  user: string;
  session: string;
  started: number;
  outcome: Outcome;
  /** It waited for a person, and its conversation has gone on. */
  answered?: boolean;
  /** The message that it belongs to: named after its first run. */
  message: string;
  title: string;
  /** What was asked in the message that it goes on with. */
  messageTitle?: string;
  tools: string[];
  agents: string[];
  models: string[];
  errors: string[];
  tokens: number;
  modelCalls: number;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
  confidence?: number;
  duration: number;
  match?: { in: string; excerpt: string };
};

export type Page = { runs: FoundRun[]; next: string | null; isPartial: boolean };

/** Return the first page of a search, or the one that an answer named. */
export async function search(fields: Fields, next: string | null, signal: AbortSignal): Promise<Page> {
  const query = next ?? `?${new URLSearchParams({ ...fields, limit: '50' })}`;
  const response = await call(address(`api/runs${query}`), { signal });
  if (!response.ok) throw await problemOf(response);
  const link = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '');
  const isPartial = response.headers.get('x-prism-search') === 'partial';
  return { runs: (await response.json()) as FoundRun[], next: link?.[1] ?? null, isPartial };
}

export type Measured = {
  runs: number;
  failed: number;
  tokens: number;
  /** Seconds; null: no run. */
  median: number | null;
  p95: number | null;
  /** Of the runs whose models have a price; null: of none. */
  cost?: number | null;
  unpriced?: number;
};

export type Trends = {
  /** Seconds of each point; 0: there is no run. */
  step: number;
  points: (Measured & { at: number })[];
  total: Measured;
  names: Names;
  limited: boolean;
};

export function loadTrends(fields: Fields, signal: AbortSignal): Promise<Trends> {
  return getJson(`api/trends?${new URLSearchParams({ ...fields, sort: '' })}`, signal);
}

/** Where a result leads: to the run, with what was looked for as its filter. */
export function linkToFound({ run }: FoundRun, fields: Fields): string {
  const plain = (name: string) => (fields[name]?.includes('*') ? '' : (fields[name] ?? ''));
  const within = plain('tool')
    ? `tool:${plain('tool')}`
    : plain('agent')
      ? `agent:${plain('agent')}`
      : fields.error
        ? 'kind:error'
        : '';
  const options = { find: fields.text ?? plain('state'), in: within };
  return formatRoute({ ...HOME, place: { kind: 'run', run }, options });
}

/** A message with the runs that answered it: an approval or an answer begins another one. */
export type Group = { first: FoundRun; later: FoundRun[] };

/** Put each continuation below the run of its message; a group stands where its first result stood. */
export function groupsOf(runs: readonly FoundRun[]): Group[] {
  const groups = new Map<string, FoundRun[]>();
  for (const found of runs) {
    const key = `${found.app} ${found.user} ${found.session} ${found.message || found.run}`;
    const known = groups.get(key);
    if (known) known.push(found);
    else groups.set(key, [found]);
  }
  return [...groups.values()].map((all) => {
    const inOrder = all.toSorted((a, b) => a.started - b.started);
    const first = inOrder.find(({ run, message }) => run === message) ?? inOrder[0]!;
    return { first, later: inOrder.filter((each) => each !== first) };
  });
}

/** Say what a run is of: what the user said, or the message that it goes on with. */
export function foundTitle({ run, message, title, messageTitle }: FoundRun): string {
  if (title) return title;
  if (messageTitle) return `${messageTitle} (continued)`;
  return message && message !== run ? 'Continues an earlier message' : 'Message without text';
}
