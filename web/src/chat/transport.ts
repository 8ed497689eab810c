/** How the chat talks to the server: what it sends, and what a broken answer is. */
import { DefaultChatTransport, type UIMessageChunk } from 'ai';
import { address, path } from '../app/base';
import type { Message } from './message';

/** The AI SDK's version whose chunks the page reads. */
const DIALECT = '7';

/** Chunks after which an answer is whole. */
const ENDS: ReadonlySet<string> = new Set(['finish', 'abort', 'error']);

export type Where = { app: string; session: string; user: string };

export function chatAddress({ app, session, user }: Where, action: 'messages' | 'stream' | 'stop'): string {
  const query = new URLSearchParams({ dialect: DIALECT, userId: user });
  return `${path('api', 'chat', app, session, action)}?${query}`;
}

export function sendAddress(app: string): string {
  return `${path('api', 'chat', app)}?dialect=${DIALECT}`;
}

/** The body of a request: the server keeps the history, so only the message in question is sent. */
export function sendBody(
  where: Where,
  messages: readonly Message[],
  trigger: string,
  messageId: string | undefined,
): Record<string, unknown> {
  const continued = messages.find((message) => message.id === messageId && message.role === 'assistant');
  const sent = continued ?? messages.at(-1);
  return { id: where.session, userId: where.user, trigger, messageId, messages: sent ? [sent] : [] };
}

export class PrismTransport extends DefaultChatTransport<Message> {
  /** Whether the last attempt to resume found nothing running. */
  idle = false;

  constructor(where: Where, onOpen: () => void) {
    super({
      api: address(sendAddress(where.app)),
      prepareSendMessagesRequest: ({ messages, trigger, messageId, body }) => ({
        body: { ...sendBody(where, messages, trigger, messageId), ...body },
      }),
      prepareReconnectToStreamRequest: () => ({ api: address(chatAddress(where, 'stream')) }),
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        this.idle = response.status === 204;
        if (response.ok) onOpen();
        return response;
      },
    });
  }

  protected override processResponseStream(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<UIMessageChunk> {
    return super.processResponseStream(stream).pipeThrough(wholeOrLost());
  }
}

/** Let a stream fail that stops before its end: to the SDK, a server that went away looks like success. */
export function wholeOrLost(): TransformStream<UIMessageChunk, UIMessageChunk> {
  let ended = false;
  return new TransformStream({
    transform(chunk, controller) {
      ended ||= ENDS.has(chunk.type);
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (!ended) controller.error(new TypeError('network: the answer broke off'));
    },
  });
}

/** Tell a lost connection from an answer that says no. */
export function isLost(error: unknown): boolean {
  return error instanceof TypeError;
}
