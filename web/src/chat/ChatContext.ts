/** What the parts of messages need beyond themselves: where the chat is, and how to answer. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Conversation } from './conversation';
import type { RejectedAnswer } from './rejectedAnswers';
import type { Versions } from './versions';

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
