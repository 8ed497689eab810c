/** How a chat is connected: in writing, and by voice. */
import type { Message } from './message';

export type ConnectionState =
  | { kind: 'connected' }
  | { kind: 'lost'; attempt: number }
  /** The last message did not reach the server, or was refused because the page was stale. */
  | { kind: 'unsent'; isStale?: boolean }
  /** The conversation has continued elsewhere: what is shown is not the latest, and the last message was refused. */
  | { kind: 'stale' }
  /** The server did not take an answer; what is shown is what the server has. */
  | { kind: 'refused'; reason: string }
  /** Somebody deleted the session: what is on the screen is all there is. */
  | { kind: 'gone' };

/** A conversation by voice, while there is one: what the person does then goes over its line. */
export type LiveLine = {
  /** The message that the agent is saying; empty while it says none. */
  readonly saying: string;
  /** Return whether it was taken. */
  send(message: Message): boolean;
  interrupt(): void;
  decide(approval: string, approved: boolean, more?: DecisionMore): void;
  answer(call: string, output: unknown): void;
  fail(call: string, errorText: string): void;
};

export type DecisionMore = { reason?: string; payload?: unknown };
