/** The conversations of an app: list, load, rename, pin, delete, restore. */
import { address, json, type Connection } from './connection.ts';

export type Chat = {
  /** The chat's id: the ADK session. */
  id: string;
  title: string;
  pinned: boolean;
  /** When it began, and when something last happened, in milliseconds since 1970. */
  createdAt: number;
  updatedAt: number;
  /** Its last run. */
  runId: string;
  /** How that ended; null while it goes on. */
  outcome: string | null;
};

/** What the server tells of a conversation. */
type Listed = {
  session: string;
  user: string;
  title: string;
  pinned?: boolean;
  started: number;
  active: number;
  run: string;
  outcome: string | null;
};

/** Return the latest conversations, pinned ones first, then the newest; with `text`, those with these words in the title or first message. */
export async function listChats(connection: Connection, { limit = 40, text }: { limit?: number; text?: string } = {}): Promise<Chat[]> {
  const { app, userId } = connection;
  const listed = await json<Listed[]>(connection, address(connection, ['api', 'conversations'], { app, limit, text }));
  return listed.filter(({ user }) => userId === undefined || user === userId).map(chatOf);
}

function chatOf({ session, title, pinned = false, started, active, run, outcome }: Listed): Chat {
  return { id: session, title, pinned, createdAt: started * 1000, updatedAt: active * 1000, runId: run, outcome };
}

/** Give a conversation a title; an empty one: that of its first message again. */
export async function renameChat(connection: Connection, chatId: string, title: string): Promise<void> {
  await json(connection, chatAddress(connection, chatId), 'PATCH', { title });
}

export async function pinChat(connection: Connection, chatId: string, pinned = true): Promise<void> {
  await json(connection, chatAddress(connection, chatId), 'PATCH', { pinned });
}

/** Delete a conversation. For a while `restoreChat` brings it back. */
export async function deleteChat(connection: Connection, chatId: string): Promise<void> {
  await json(connection, chatAddress(connection, chatId), 'DELETE');
}

export async function restoreChat(connection: Connection, chatId: string): Promise<void> {
  await json(connection, chatAddress(connection, chatId, 'restore'), 'POST');
}

export function chatAddress(connection: Connection, chatId: string, ...more: string[]): string {
  const { app, userId } = connection;
  return address(connection, ['api', 'chat', app, chatId, ...more], { userId });
}
