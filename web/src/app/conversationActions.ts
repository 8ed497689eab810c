/** What a person does with a conversation in the list: name, pin, delete, restore. */
import { deleteChat, pinChat, renameChat, restoreChat, type Connection, type Conversation } from '@adk-prism/client';
import { SERVER } from './request';

type Named = Pick<Conversation, 'app' | 'session' | 'user'>;

function appOf({ app, user }: Named): Connection {
  return { ...SERVER, app, userId: user };
}

/** Change what is given; an empty title is the first message again. */
export async function change(entry: Named, { title, pinned }: { title?: string; pinned?: boolean }): Promise<void> {
  if (title !== undefined) await renameChat(appOf(entry), entry.session, title);
  if (pinned !== undefined) await pinChat(appOf(entry), entry.session, pinned);
}

export function remove(entry: Named): Promise<void> {
  return deleteChat(appOf(entry), entry.session);
}

export function restore(entry: Named): Promise<void> {
  return restoreChat(appOf(entry), entry.session);
}
