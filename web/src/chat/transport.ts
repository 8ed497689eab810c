/** How the chat hears the server: through the AI SDK's transport, and what a broken answer is. */
import { DefaultChatTransport, type UIMessageChunk } from 'ai';
import { address } from '../app/serverUrl';
import { call } from '../app/identity';
import { gather } from './mergeDeltas';
import type { Message } from './message';
import { chatAddress, sendAddress, sendBody, type Where } from './requests';

/** Chunks after which an answer is whole. */
const ENDS: ReadonlySet<string> = new Set(['finish', 'abort', 'error']);

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
        const response = await call(input, init);
        this.idle = response.status === 204;
        if (response.ok) onOpen();
        return response;
      },
    });
  }

  protected override processResponseStream(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<UIMessageChunk> {
    return super.processResponseStream(stream).pipeThrough(wholeOrLost()).pipeThrough(gather());
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
