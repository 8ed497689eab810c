/** The conversations of an app: list, rename, pin, delete, restore; and the versions of their answers. */
import { address, json, type Connection, type Server } from './connection.ts';
import type { Outcome } from './film-document.ts';

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

/** A moment of a run; `session` is that of the run, or of the fork that begins there. */
export type ForkPoint = {
  session: string;
  run: string;
  at: number;
  /** The run was run again, with changes. */
  rerun?: boolean;
};

/** What the server tells of a conversation, with any app. Times are in seconds since 1970. */
export type Conversation = {
  app: string;
  user: string;
  session: string;
  /** What its user called it, or the first message. */
  title: string;
  /** The first message. */
  said: string;
  pinned: boolean;
  started: number;
  active: number;
  /** How many runs it has, and the last one. */
  runs: number;
  run: string;
  /** How that ended; null while it goes on. */
  outcome: Outcome | null;
  /** A recording that somebody uploaded. */
  uploaded: boolean;
  /** This server recorded a run of it; else it is read from ADK's session. */
  recorded: boolean;
  forkedFrom: ForkPoint | null;
  /** Forks of it, each with where it begins. */
  forks: (ForkPoint & { app: string })[];
};

export type ConversationQuery = { app?: string; limit?: number; text?: string };

/**
 * Return the latest conversations of all apps, or of one, as the server tells of them. `listChats` has less to read.
 */
export function listConversations(server: Server, query: ConversationQuery = {}): Promise<Conversation[]> {
  return json<Conversation[]>(server, address(server, ['api', 'conversations'], query));
}

/**
 * Return the latest conversations, pinned ones first, then the newest; with `text`, those with these words in the
 * title or first message.
 */
export async function listChats(
  connection: Connection,
  { limit = 40, text }: { limit?: number; text?: string } = {},
): Promise<Chat[]> {
  const { app, userId } = connection;
  const listed = await listConversations(connection, { app, limit, ...(text && { text }) });
  return listed.filter(({ user }) => userId === undefined || user === userId).map(chatOf);
}

function chatOf({ session, title, pinned, started, active, run, outcome }: Conversation): Chat {
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

/** One of the answers to a message that was regenerated, or that was edited. */
export type Version = {
  messageId: string;
  userMessageId: string;
  /** In seconds since 1970. */
  started: number;
  /** It is in the conversation as it is now. */
  current: boolean;
};

/**
 * Return each place of a chat that has several versions, with these, oldest first. A message sent after an earlier one
 * goes on from it.
 */
export function listVersions(connection: Connection, chatId: string, signal?: AbortSignal): Promise<Version[][]> {
  return json<Version[][]>(connection, chatAddress(connection, chatId, 'versions'), 'GET', undefined, signal);
}

export function chatAddress(connection: Connection, chatId: string, ...more: string[]): string {
  const { app, userId } = connection;
  return address(connection, ['api', 'chat', app, chatId, ...more], { userId });
}
