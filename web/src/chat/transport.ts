/** How the chat hears the server: through the package's transport, at the pace of pictures. */
import { ConnectionError, PrismError, type Connection } from '@adk-prism/client';
import { PrismChatTransport } from '@adk-prism/client/ai';
import type { ChatTransport, UIMessageChunk } from 'ai';
import type { Message } from './message';
import { SERVER } from '../app/server';

// Gathers what comes faster than pictures: pieces of one text that arrive within a frame become one piece. The AI SDK
// copies a message for every piece, so of a long answer, a copy per frame is a copy that somebody sees.

/** Milliseconds; the first piece after a silence goes on at once. */
const FRAME = 16;

/** The chunks that are pieces: what they belong to, and what they add. */
const PIECES: Readonly<Record<string, { of: string; adds: string }>> = {
  'text-delta': { of: 'id', adds: 'delta' },
  'reasoning-delta': { of: 'id', adds: 'delta' },
  'tool-input-delta': { of: 'toolCallId', adds: 'inputTextDelta' },
};

type Fields = Record<string, unknown>;

/** Join two chunks to one that says the same; null where each has to be said by itself. */
export function joined(before: UIMessageChunk, after: UIMessageChunk): UIMessageChunk | null {
  const piece = PIECES[after.type];
  const [old, now] = [before as Fields, after as Fields];
  if (!piece || before.type !== after.type || old[piece.of] !== now[piece.of]) return null;
  if (old.providerMetadata !== undefined || now.providerMetadata !== undefined) return null;
  return { ...old, [piece.adds]: `${String(old[piece.adds])}${String(now[piece.adds])}` } as UIMessageChunk;
}

/** A stream that says the same in no more pieces than there are frames. */
export function gather(): TransformStream<UIMessageChunk, UIMessageChunk> {
  let pending: UIMessageChunk | null = null;
  let frame: ReturnType<typeof setTimeout> | null = null;
  const letGo = (controller: TransformStreamDefaultController<UIMessageChunk>) => {
    if (pending) controller.enqueue(pending);
    pending = null;
  };
  const wait = (controller: TransformStreamDefaultController<UIMessageChunk>) => {
    frame = setTimeout(() => {
      frame = null;
      if (!pending) return;
      try {
        letGo(controller);
      } catch {
        return; // Whoever read has left, or the line broke: there is nobody to tell.
      }
      wait(controller);
    }, FRAME);
  };
  return new TransformStream({
    transform(chunk, controller) {
      const both = pending && joined(pending, chunk);
      if (both) pending = both;
      else {
        letGo(controller);
        if (PIECES[chunk.type]) pending = chunk;
        else controller.enqueue(chunk);
      }
      if (frame === null && pending) {
        letGo(controller);
        wait(controller);
      }
    },
    flush(controller) {
      if (frame !== null) clearTimeout(frame);
      letGo(controller);
    },
  });
}

type Sending = Parameters<ChatTransport<Message>['sendMessages']>[0];
type Resuming = Parameters<ChatTransport<Message>['reconnectToStream']>[0];

/** Is called when the connection changes. */
type Listener = { onOpen(): void; onLost(): void };

export class PageTransport extends PrismChatTransport<Message> {
  /** Whether the last attempt to resume found nothing running. */
  idle = false;

  constructor(
    where: Where,
    private readonly listener: Listener,
  ) {
    const onConnection = (state: 'connected' | 'reconnecting') =>
      state === 'connected' ? listener.onOpen() : listener.onLost();
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

/**
 * Take a stream that cannot be gone on with, for whatever reason, for a lost connection: what the server has is asked
 * for anew.
 */
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

/** Whom the chat asks: an app of the page's own server, as one of its users. */
export type Where = { app: string; session: string; user: string };

/** An app as the chat asks it, in the AI SDK's version whose chunks the page reads. */
export function connectionOf({ app, user }: Where): Connection & { dialect: '7' } {
  return { ...SERVER, app, userId: user, dialect: '7' };
}
