/** The messages of a chat, for a page that is loaded. */
import type { UIMessage } from 'ai';
import { address, json, type Connection } from './connection.ts';
import type { PrismUIMessage } from './prism.ts';

/** Return the messages of a chat, without the one that is still being written: `resume` shows that. None of a new chat. */
export async function loadMessages<MESSAGE extends UIMessage = PrismUIMessage>(
  connection: Connection & { dialect?: '5' | '6' | '7' },
  chatId: string,
  signal?: AbortSignal,
): Promise<MESSAGE[]> {
  const { app, userId, dialect } = connection;
  return json<MESSAGE[]>(connection, address(connection, ['api', 'chat', app, chatId, 'messages'], { userId, dialect }), 'GET', undefined, signal);
}
