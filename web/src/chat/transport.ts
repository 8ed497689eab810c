/** How the chat hears the server: through the package's transport, at the pace of pictures. */
import { ConnectionError, PrismError } from '@adk-prism/client';
import { PrismChatTransport } from '@adk-prism/client/ai';
import type { ChatTransport, UIMessageChunk } from 'ai';
import { gather } from './mergeDeltas';
import type { Message } from './message';
import { connectionOf, type Where } from './requests';

type Sending = Parameters<ChatTransport<Message>['sendMessages']>[0];
type Resuming = Parameters<ChatTransport<Message>['reconnectToStream']>[0];

/** Whoever is told how the connection stands. */
export type Listener = { onOpen(): void; onLost(): void };

export class PageTransport extends PrismChatTransport<Message> {
  /** Whether the last attempt to resume found nothing running. */
  idle = false;

  constructor(
    where: Where,
    private readonly listener: Listener,
  ) {
    const onConnection = (state: 'connected' | 'reconnecting') => (state === 'connected' ? listener.onOpen() : listener.onLost());
    // Whoever leaves the page lets its run go on; the button that stops asks the server to.
    super({ ...connectionOf(where), stopOnAbort: false, onConnection });
  }

  override async sendMessages(options: Sending): Promise<ReadableStream<UIMessageChunk>> {
    this.idle = false;
    return this.opened(await super.sendMessages(options));
  }

  override async reconnectToStream(options: Resuming): Promise<ReadableStream<UIMessageChunk> | null> {
    const stream = await super.reconnectToStream(options);
    this.idle = stream === null;
    if (stream) return this.opened(stream);
    this.listener.onOpen();
    return null;
  }

  private opened(stream: ReadableStream<UIMessageChunk>): ReadableStream<UIMessageChunk> {
    this.listener.onOpen();
    return wholeOrLost(stream).pipeThrough(gather());
  }
}

/** Take a stream that cannot be gone on with, for whatever reason, for a lost connection: what the server has is asked for anew. */
export function wholeOrLost(stream: ReadableStream<UIMessageChunk>): ReadableStream<UIMessageChunk> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error((error as Error).name === 'AbortError' ? error : new ConnectionError('', error));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Tell a lost connection from an answer that says no. */
export function isLost(error: unknown): boolean {
  return error instanceof TypeError;
}

/** Tell the refusal of a message whose page does not show the latest ones. */
export function isStale(error: unknown): boolean {
  return error instanceof PrismError && error.code === 'stale-conversation';
}
