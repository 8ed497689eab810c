/** The messages of a chat, for a page that is loaded. */
import type { UIMessage } from 'ai';
import { address, json, type Connection } from './connection.ts';
import type { PrismUIMessage } from './prism.ts';
import { loadedBy } from './shown.ts';

/** In the place of the last message of a chat of which an earlier version was loaded first. */
const UNKNOWN = '?';

type Chosen = Connection & { dialect?: '5' | '6' | '7' };

/**
 * Return the messages of a chat, without the one that is still being written: `resume` shows that. None of a new chat.
 */
export async function loadMessages<MESSAGE extends UIMessage = PrismUIMessage>(
  connection: Chosen,
  chatId: string,
  signal?: AbortSignal,
): Promise<MESSAGE[]> {
  const messages = await load<MESSAGE>(connection, chatId, {}, signal);
  loadedBy(connection).note(chatId, messages.at(-1)?.id);
  return messages;
}

/**
 * Return the messages of the conversation that an answer is in, which may be an earlier version of the chat:
 * `listVersions`
 * tells. A message that is sent after them continues that version.
 */
export async function loadVersion<MESSAGE extends UIMessage = PrismUIMessage>(
  connection: Chosen,
  chatId: string,
  messageId: string,
  signal?: AbortSignal,
): Promise<MESSAGE[]> {
  if (!messageId) return loadMessages(connection, chatId, signal);
  const messages = await load<MESSAGE>(connection, chatId, { version: messageId }, signal);
  const known = loadedBy(connection);
  if (known.get(chatId) === undefined) known.note(chatId, UNKNOWN);
  return messages;
}

function load<Message>(
  connection: Chosen,
  chatId: string,
  query: { version?: string },
  signal?: AbortSignal,
): Promise<Message[]> {
  const { app, userId, dialect } = connection;
  const url = address(connection, ['api', 'chat', app, chatId, 'messages'], { userId, dialect, ...query });
  return json<Message[]>(connection, url, 'GET', undefined, signal);
}
