/** What the server knows of a session beside its messages: its runs, its versions, what it was forked from. */
import { listVersions } from '@adk-prism/client';
import { loadMessages } from '@adk-prism/client/ai';
import { useMemo } from 'react';
import { useCatalogue, type ConversationEntry } from '../app/catalogue';
import { useServerData } from '../app/query';
import { getJson, path } from '../app/server';
import { textOf, type Message } from '../chat/message';
import type { Turn } from '../features/tree/rows';
import { connectionOf, type Where } from '../chat/transport';
import { byAnswer, NO_VERSIONS, type Versions } from '../chat/versions';
import { shared } from '../film/sharedFile';

export type Lineage = Pick<ConversationEntry, 'title' | 'said' | 'forkedFrom' | 'forks'>;

/** Return what a conversation was forked from and what from it. If it is not among the latest, the server is asked. */
export function useLineage(app: string, session: string): Lineage | null {
  const { conversations } = useCatalogue();
  const listed = conversations?.find((entry) => entry.app === app && entry.session === session) ?? null;
  const load = (signal: AbortSignal) =>
    getJson<ConversationEntry[]>(`api/conversations?${new URLSearchParams({ app, session })}`, signal);
  const isUnlisted = conversations !== null && listed === null && session !== '' && !shared();
  const { data } = useServerData(['lineage', app, session], load, { enabled: isUnlisted });
  return listed ?? data?.[0] ?? null;
}

type ListedRun = {
  run: string;
  message: string;
  outcome: string | null;
  started: number;
  ended: number | null;
  copiedFrom?: { run: string; seconds: number };
};

const runsOf = (where: Where, signal: AbortSignal): Promise<ListedRun[]> =>
  getJson(`api/runs?${new URLSearchParams(where)}`, signal);

/** Return the answers of a chat with their runs, oldest first; while the others are not known, each with its last. */
export function useTurns({ app, user, session }: Where, messages: readonly Message[]): readonly Turn[] {
  const where = { app, user, session };
  const answers = messages.filter(({ metadata }) => metadata?.runId);
  // A message is named after its first run: only where it was continued, it has others.
  const continued = answers.filter(({ id, metadata }) => id !== metadata?.runId);
  const options = { enabled: continued.length > 0, keepPrevious: true };
  const key = continued.map(({ metadata }) => metadata?.runId).join(' ');
  const { data } = useServerData(['message runs', where, key], (signal) => runsOf(where, signal), options);
  const ids = answers.map(({ id, metadata }) => `${id} ${metadata?.runId}`).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the SDK hands over new messages with every token
  return useMemo(() => turnsOf(messages, data ?? []), [ids, data]);
}

/**
 * Return the turns of a chat: of each answer what was asked, and its runs. A run by voice has several answers: they are
 * one turn.
 */
export function turnsOf(messages: readonly Message[], listed: readonly ListedRun[]): Turn[] {
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const last = message.metadata?.runId;
    if (!last || turns.at(-1)?.runs.includes(last)) continue;
    const runs = listed.filter((one) => one.message === message.id).map(({ run }) => run);
    const asked = messages.slice(0, index).findLast(({ role }) => role === 'user');
    turns.push({
      message: message.id,
      said: asked ? textOf(asked).slice(0, 200) : '',
      runs: runs.includes(last) ? runs : [last],
    });
  }
  return turns;
}

type Endings = {
  /** Ids of messages whose last run was stopped. */
  stopped: ReadonlySet<string>;
  /** How long messages took, without what a person took to answer. */
  seconds: ReadonlyMap<string, number>;
  /** The runs that took place, of messages that were copied into a fork. */
  originals: ReadonlyMap<string, string>;
};

/**
 * Return how the messages of a chat ended; `count` is how many messages there are while nothing runs,
 * else 0.
 */
export function useEndings({ app, user, session }: Where, count: number, isFork: boolean): Endings {
  const where = { app, user, session };
  const options = { enabled: count > 0, keepPrevious: true };
  const load = async (signal: AbortSignal) => {
    const runs = await runsOf(where, signal);
    return isFork ? withOriginals(runs, signal) : runs;
  };
  const { data } = useServerData(['stopped', where, count, isFork], load, options);
  return useMemo(() => endingsOf(data ?? []), [data]);
}

export function endingsOf(runs: readonly ListedRun[]): Endings {
  const last = new Map(runs.map(({ message, outcome }) => [message, outcome]));
  const seconds = new Map<string, number>();
  const originals = new Map<string, string>();
  for (const { message, started, ended, copiedFrom } of runs) {
    if (copiedFrom) originals.set(message, copiedFrom.run);
    if (ended) seconds.set(message, (seconds.get(message) ?? 0) + (copiedFrom?.seconds ?? ended - started));
  }
  const stopped = new Set([...last].flatMap(([message, outcome]) => (outcome === 'cancelled' ? [message] : [])));
  return { stopped, seconds, originals };
}

const MOST_COPIES = 100; // That are asked for, one after the other.

/** A fork begins with copies, which were written in one go: the description of each names the run that took place. */
async function withOriginals(runs: readonly ListedRun[], signal: AbortSignal): Promise<ListedRun[]> {
  const found = [...runs];
  for (const [index, listed] of runs.slice(0, MOST_COPIES).entries()) {
    const { copiedFrom } = await getJson<ListedRun>(path('api', 'runs', listed.run), signal);
    if (!copiedFrom) break;
    found[index] = { ...listed, copiedFrom };
  }
  return found;
}

/** Return the versions of a chat; they are asked for again when it has grown, and not while it grows. */
export function useVersions(where: Where, isBusy: boolean, last: string): Versions {
  const load = (signal: AbortSignal) => listVersions(connectionOf(where), where.session, signal);
  const { data } = useServerData(['versions', where, last], load, {
    enabled: !isBusy && last !== '',
    keepPrevious: true,
  });
  return useMemo(() => (data?.length ? byAnswer(data) : NO_VERSIONS), [data]);
}

/** The name of a recording's session begins so: it is a name, and no chat. */
export const RECORDING = 'recording-';

type Recorded = { runs: readonly string[]; before: readonly Message[] };
const NONE: Recorded = { runs: [], before: [] };

/** Return the runs of the session that a recorded run belongs to, and what was said before this one. */
export function useRecordedSession({ app, user, session }: Where, run: string): Recorded {
  const where = { app, user, session };
  const load = async (signal: AbortSignal): Promise<Recorded> => {
    const runs = await runsOf(where, signal);
    // Before the only run nothing was said; and the app of an uploaded one need not be served here.
    const messages = runs.length > 1 ? await loadMessages<Message>(connectionOf(where), session, signal) : [];
    return { runs: runs.map((one) => one.run), before: saidBefore(messages, run) };
  };
  const isRecorded = session.startsWith(RECORDING) && !shared();
  return useServerData(['recorded session', where, run], load, { enabled: isRecorded }).data ?? NONE;
}

/** Return the messages before a run's own; of a run that still goes on only its question is in the list. */
export function saidBefore(messages: readonly Message[], run: string): readonly Message[] {
  const answer = messages.findIndex(
    (one) => one.role === 'assistant' && (one.id === run || one.metadata?.runId === run),
  );
  const before = answer < 0 ? messages : messages.slice(0, answer);
  return before.at(-1)?.role === 'user' ? before.slice(0, -1) : before;
}
