/** What the chat asks of the server: addresses and bodies. */
import { path } from '../app/serverUrl';
import type { Message } from './message';

/** The AI SDK's version whose chunks the page reads. */
const DIALECT = '7';

export type Where = { app: string; session: string; user: string };

export function chatAddress({ app, session, user }: Where, action: 'messages' | 'stream' | 'stop'): string {
  const query = new URLSearchParams({ dialect: DIALECT, userId: user });
  return `${path('api', 'chat', app, session, action)}?${query}`;
}

export function sendAddress(app: string): string {
  return `${path('api', 'chat', app)}?dialect=${DIALECT}`;
}

/** The body of a request: the server keeps the history, so only the message in question is sent, and which one
 * it follows. */
export function sendBody(
  where: Where,
  messages: readonly Message[],
  trigger: string,
  messageId: string | undefined,
): Record<string, unknown> {
  const continued = messages.find((message) => message.id === messageId && message.role === 'assistant');
  const sent = continued ?? messages.at(-1);
  const parentId = sent && messages[messages.lastIndexOf(sent) - 1]?.id;
  return { id: where.session, userId: where.user, trigger, messageId, messages: sent ? [sent] : [], parentId };
}
