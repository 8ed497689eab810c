/** What the parts of messages need beyond themselves: where the chat is, and how to answer. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Conversation } from './conversation';
import type { Versions } from './versions';
import { once, type Film } from '../film/film';
import { saidAt } from '../film/conversation';
import { endOf, SECOND, timeAt, type NodeItem } from '../film/timeline';

/** The run that the panels show: its messages can tell how long an agent took, and lead to their events. */
export const RunContext = createContext<Film | null>(null);

/** The moment that is shown: what happened later has not happened yet. */
export const MomentContext = createContext(Infinity);

export const useRun = (): Film | null => useContext(RunContext);

const byCall = once(
  (film: Film) =>
    new Map(
      film.items.nodes
        .filter(({ is }) => is.call)
        .map((node) => [node.is.call, node] as const)
        .reverse(),
    ),
);

/** Return where a call is in a run; null where the run does not know it. */
export function callNode(film: Film | null, call: string): NodeItem | null {
  return (film && byCall(film).get(call)) ?? null;
}

const agentByCall = once(
  (film: Film) =>
    new Map(film.items.nodes.filter(({ is }) => is.call && is.kind !== 'tool').map((node) => [node.is.call, node])),
);

/** Return the agent that a call runs, or else the tool; null where the run does not know it. */
export function workerOf(film: Film | null, call: string): NodeItem | null {
  return (film && agentByCall(film).get(call)) ?? callNode(film, call);
}

/** Return the run of an agent that no call asked; null where it is not known. */
export function agentNode(film: Film | null, path: string, branch: string): NodeItem | null {
  return film?.items.nodes.find(({ is }) => is.path === path && is.lane === branch) ?? null;
}

/** Return how long a node ran, in seconds; null while it runs. */
export function secondsOf(node: NodeItem | null): number | null {
  const end = node && endOf(node);
  return end ? (end.end - node.is.start) / SECOND : null;
}

const thoughts = once((film: Film): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  for (const item of film.items.said) {
    if (item.is.kind !== 'reasoning') continue;
    const last = item.marks.at(-1)?.[0] ?? item.since;
    found.set(String(saidAt(item, Infinity).text), (timeAt(film, last) - timeAt(film, item.since)) / SECOND);
  }
  return found;
});

/** Return how long a thought took, in seconds; null where the run does not know it. */
export function thoughtSeconds(film: Film, text: string): number | null {
  return thoughts(film).get(text) ?? null;
}

// Answers that the server did not take, until another one is given.

/** Why an answer was not taken, and what it was. */
export type RejectedAnswer = { reason: string; given: unknown };

export class RejectedAnswers {
  private found: ReadonlyMap<string, RejectedAnswer> = new Map();

  constructor(private readonly onChange: () => void) {}

  /** Return why the last answer to an approval or a request was not taken; null where it was, or there is none. */
  of(id: string): RejectedAnswer | null {
    return this.found.get(id) ?? null;
  }

  add(id: string, refusal: RejectedAnswer): void {
    this.found = new Map(this.found).set(id, refusal);
    this.onChange();
  }

  /** The conversation has gone on. */
  forgetAll(): void {
    if (this.found.size === 0) return;
    this.found = new Map();
    this.onChange();
  }

  forget(id: string): void {
    if (!this.found.has(id)) return;
    this.found = new Map([...this.found].filter(([known]) => known !== id));
    this.onChange();
  }
}

export type ChatActions = {
  app: string;
  user: string;
  session: string;
  /** Null where nothing can be answered: in the past, or in a recording. */
  conversation: Conversation | null;
  /** The conversation goes on by voice: what was said aloud is not said again, and calls wait while it is said. */
  isTalking?: boolean;
  /** An answer is on its way. */
  isBusy?: boolean;
  /** Answers that have other versions. */
  versions?: Versions;
  /** The message that is the answer of a run, where a run is shown and not its conversation. */
  answer?: { message: string; run: string };
  /** Why nothing can be answered. */
  reason: string;
  /** Show the entry of a run that a piece came from. */
  seek: ((cursor: number) => void) | null;
  /** Show a panel, and in it what is named. */
  openPanel: (panel: string, selected?: string) => void;
  /** Show a step of the run in the inspector. */
  inspect?: (step: string) => void;
  /** How long answers took, in seconds, by message. */
  seconds?: ReadonlyMap<string, number>;
  /** Of messages that were copied into a fork, the runs that took place. */
  originals?: ReadonlyMap<string, string>;
  /** Show the trace of a run, or another panel of it. */
  openTrace?: (run: string, panel?: string) => void;
  /** Which answer of a run by voice a message is, counted from 0, and the run: where its sound is. */
  spoken?: { run: string; answers: readonly string[] };
  /** The only answer of the run that is shown: the run says what it took. */
  onlyAnswer?: string;
};

export const ChatContext = createContext<ChatActions | null>(null);

export function useActions(): ChatActions {
  const found = useContext(ChatContext);
  if (!found) throw new Error('useActions must be called inside a ChatContext.');
  return found;
}

/** Why the last answer to an approval or a request was not taken. */
export function useRejectedAnswer(id: string): RejectedAnswer | null {
  const { conversation } = useActions();
  const get = () => conversation?.refusals.of(id) ?? null;
  return useSyncExternalStore(conversation?.watch ?? unwatched, get, get);
}

const unwatched = () => () => undefined;
