/**
 * What is said, as messages: what the person was heard to say, and what the agent says, each folded by the AI SDK's own
 * reader. Ids are the server's, so that a page that is loaded later shows the same.
 */
import { readUIMessageStream, type UIMessageChunk } from 'ai';
import type { PrismDataParts, PrismUIMessage } from '../prism.ts';
import { waitingCalls } from '../sendWhenAnswered.ts';

/** Chunks that end a message. */
const ENDS: ReadonlySet<string> = new Set(['finish', 'abort', 'error']);

export type Shown = {
  /** Add a message, or put it in the place of an earlier state of it. */
  show(message: PrismUIMessage): void;
  find(id: string): PrismUIMessage | undefined;
  /**
   * The message that is being said has changed; empty: none is. `waits`: its calls that wait for the person, or for
   * the page.
   */
  onSaying(id: string, waits: number): void;
};

export class Captions {
  readonly #shown: Shown;
  #run = '';
  #saying: { id: string; chunks: ReadableStreamDefaultController<UIMessageChunk> } | null = null;

  constructor(shown: Shown) {
    this.#shown = shown;
  }

  /** Hear a run from now on. If it is another one, what the last one was saying broke off. */
  follow(run: string): void {
    if (run !== this.#run) this.close();
    this.#run = run;
  }

  take(chunk: UIMessageChunk): void {
    if (chunk.type === 'data-input-transcription')
      this.#hear(chunk.id ?? '', (chunk.data as PrismDataParts['input-transcription']).text);
    else if (chunk.type === 'data-usage') this.#amend(chunk.data as PrismDataParts['usage']);
    else if (chunk.type === 'start') this.#begin(chunk.messageId ?? '', chunk);
    else this.#saying?.chunks.enqueue(chunk);
    if (ENDS.has(chunk.type)) this.close();
  }

  /** Nothing more comes of what is being said. */
  close(): void {
    this.#saying?.chunks.close();
    this.#saying = null;
  }

  #hear(utterance: string, text: string): void {
    if (text.trim())
      this.#shown.show({ id: `${this.#run}-${utterance}`, role: 'user', parts: [{ type: 'text', text }] });
  }

  /** Tokens may be counted after a message's end. */
  #amend({ messageId, usage }: PrismDataParts['usage']): void {
    const message = this.#shown.find(messageId);
    if (message) this.#shown.show({ ...message, metadata: { runId: this.#run, ...message.metadata, usage } });
  }

  #begin(id: string, start: UIMessageChunk): void {
    this.close();
    // Its place, before anything else is heard: the SDK's reader takes a moment.
    if (!this.#shown.find(id)) this.#shown.show({ id, role: 'assistant', parts: [] });
    const stream = new ReadableStream<UIMessageChunk>({
      start: (chunks) => {
        this.#saying = { id, chunks };
        chunks.enqueue(start);
      },
    });
    this.#shown.onSaying(id, 0);
    void this.#tell(id, stream);
  }

  async #tell(id: string, stream: ReadableStream<UIMessageChunk>): Promise<void> {
    // What a chunk does wrong is the message's to bear: the rest of it is shown.
    for await (const message of readUIMessageStream<PrismUIMessage>({
      stream,
      onError: (error) => console.warn(error),
    })) {
      this.#shown.show(message);
      if (this.#isLast(id)) this.#shown.onSaying(id, waitingCalls(message));
    }
    if (this.#isLast(id)) this.#shown.onSaying('', 0);
  }

  /** Whether no other message has begun: the SDK's reader is behind, and the next one is being said already. */
  #isLast(id: string): boolean {
    return this.#saying === null || this.#saying.id === id;
  }
}
