/** What a person thinks of an answer. */
import { address, json, type Connection } from './connection.ts';

export type Feedback = {
  /** The run that wrote the answer: `message.metadata.runId`. */
  runId: string;
  messageId?: string;
  /** 1: good, -1: bad, or a number between; null takes it back. */
  score: number | null;
  comment?: string;
};

/** Tell the server what a person thinks of an answer. A second time replaces the first. */
export async function sendFeedback(connection: Connection, { runId, ...feedback }: Feedback): Promise<void> {
  await json(connection, address(connection, ['api', 'runs', runId, 'feedback']), 'POST', feedback);
}
