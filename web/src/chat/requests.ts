/** Whom the chat asks: an app of the page's own server, as one of its users. */
import type { Connection } from '@adk-prism/client';
import { SERVER } from '../app/request';

export type Where = { app: string; session: string; user: string };

/** An app as the chat asks it, in the AI SDK's version whose chunks the page reads. */
export function connectionOf({ app, user }: Where): Connection & { dialect: '7' } {
  return { ...SERVER, app, userId: user, dialect: '7' };
}
