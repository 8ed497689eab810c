/** What a person thinks of an answer. */
import { chatAddress } from './chats.ts';
import { address, json, type Connection } from './connection.ts';

export type Feedback = {
  /** The run that wrote the answer: `message.metadata.runId`. */
  runId: string;
  messageId?: string;
  /** 1: good, -1: bad, or a number between; null takes it back. */
  score: number | null;
  comment?: string;
};

/** What somebody has said of an answer, from -1, bad, to 1, good. */
export type GivenFeedback = { messageId: string; score: number; comment: string };

/** Return what this user thinks of the answers of a chat. */
export function loadFeedback(connection: Connection, chatId: string): Promise<GivenFeedback[]> {
  return json<GivenFeedback[]>(connection, chatAddress(connection, chatId, 'feedback'));
}

/** Tell the server what a person thinks of an answer. A second time replaces the first. */
export async function sendFeedback(connection: Connection, { runId, ...feedback }: Feedback): Promise<void> {
  await json(connection, address(connection, ['api', 'runs', runId, 'feedback']), 'POST', feedback);
}
