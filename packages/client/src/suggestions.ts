/** What a person may say next, as the app or its model suggests after an answer. */
import { chatAddress } from './chats.ts';
import { json, type Connection } from './connection.ts';

export type Suggestions = {
  /** The run that answered last, and the message that it wrote. */
  runId: string;
  messageId: string;
  /** Short lines of plain text, in the words of the person. */
  suggestions: string[];
  /** The title that the conversation was given with them, if it had none. */
  title: string | null;
};

/**
 * Return what the person may say next in a chat; null where nobody suggests anything. The server answers once they are
 * made, which is some seconds after the answer.
 */
export function loadSuggestions(
  connection: Connection,
  chatId: string,
  signal?: AbortSignal,
): Promise<Suggestions | null> {
  return json<Suggestions | null>(connection, chatAddress(connection, chatId, 'suggestions'), 'GET', undefined, signal);
}
