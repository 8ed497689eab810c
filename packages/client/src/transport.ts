/**
 * A transport of the AI SDK's chat for adk-prism: `useChat({ transport: new PrismChatTransport({ server, app }) })`.
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai';
import { address, json, request, requestAgain, uniqueKey, type Connection, type Resolvable } from './connection.ts';
import { notWanted, PrismError } from './errors.ts';
import { follow, isStream, type ConnectionState, type Reopened } from './follow.ts';
import type { JsonValue, PrismUIMessage } from './prism.ts';
import { sendBody } from './sendBody.ts';
import { LastShown, loadedBy } from './shown.ts';

export type Dialect = '5' | '6' | '7';

export type TransportOptions = Connection & {
  /** The AI SDK's version whose chunks are sent. `6` is what every client of v6 and v7 reads. */
  dialect?: Dialect;
  /** Session state that every message brings along: keys that the app lets clients write. */
  state?: Resolvable<Record<string, JsonValue> | undefined>;
  /** Further keys of every request's body, as `tools`. */
  body?: Resolvable<Record<string, unknown> | undefined>;
  /**
   * Whether a request that is aborted, as `stop()` of the chat does, stops the run on the server. Default: true.
   * With `false` the run goes on, and `transport.stop(chatId)` stops it.
   */
  stopOnAbort?: boolean;
  /** Called when the connection was lost, and when it is back. */
  onConnection?: (state: ConnectionState) => void;
};

type Send<MESSAGE extends UIMessage> = Parameters<ChatTransport<MESSAGE>['sendMessages']>[0];
type Reconnect<MESSAGE extends UIMessage> = Parameters<ChatTransport<MESSAGE>['reconnectToStream']>[0];

const RUN = 'x-prism-run';
const DONE = '[DONE]';
/** After it comes nothing but the end, if that: a log that fails cannot tell the run's. */
const ERROR = '{"type":"error"';
const COMPLETED = 'The answer was completed while the connection was lost. Load the messages again.';
const NAMELESS =
  'The connection was lost, and cannot be restored: the response has no header x-prism-run. Does a proxy remove it?';
const STREAM = { accept: 'text/event-stream, application/problem+json' };

export class PrismChatTransport<MESSAGE extends UIMessage = PrismUIMessage> implements ChatTransport<MESSAGE> {
  /** A resumed stream is the whole message, from its beginning. */
  readonly resumeStreamIsReplay = true;
  readonly #options: TransportOptions;
  readonly #shown = new LastShown();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Send the last message, and return the chunks of the answer. The server has the rest of the history. Throw
   * `PrismError`.
   */
  async sendMessages(options: Send<MESSAGE>): Promise<ReadableStream<UIMessageChunk>> {
    const { app, userId, dialect } = this.#options;
    const body = {
      ...(await this.#extras()),
      ...options.body,
      ...(userId && { userId }),
      ...sendBody(options, this.#lastShown(options.chatId)),
    };
    // With a key, what is sent again after a lost connection starts no second run.
    const headers = {
      ...plain(options.headers),
      ...STREAM,
      'content-type': 'application/json',
      'idempotency-key': uniqueKey(),
    };
    const url = address(this.#options, ['api', 'chat', app], { dialect });
    const sending = requestAgain(this.#options, url, { method: 'POST', headers, body: JSON.stringify(body) });
    const response = await unlessAborted(sending, options.abortSignal, (late) => this.#leave(late, options.chatId));
    this.noteShown(options.chatId, options.messages.at(-1)?.id);
    return this.#chunks(response, url, options);
  }

  /** Return the chunks of the answer that is being written, from its beginning; null if there is none. */
  async reconnectToStream(options: Reconnect<MESSAGE>): Promise<ReadableStream<UIMessageChunk> | null> {
    const url = this.#route(options.chatId, 'stream');
    // Nothing to stop if this is aborted: the run was there before, and nobody has read it here.
    const { headers, abortSignal: signal } = options;
    const init = { headers: { ...plain(headers), ...STREAM }, ...(signal && { signal }) };
    const response = await requestAgain(this.#options, url, init);
    return response.status === 204 ? null : this.#chunks(response, url, options, true);
  }

  /** Stop what runs in a chat; nothing, if nothing does. */
  async stop(chatId: string): Promise<void> {
    await json(this.#options, this.#route(chatId, 'stop'), 'POST');
  }

  async #extras(): Promise<Record<string, unknown>> {
    const { body, state } = this.#options;
    const stateDelta = typeof state === 'function' ? await state() : state;
    return { ...(typeof body === 'function' ? await body() : body), ...(stateDelta && { stateDelta }) };
  }

  /**
   * Say which message a chat ends with on the page. Needed only where the messages were not loaded through the same
   * connection object: a message that is sent without that one is a branch then, and not refused as that of a stale
   * page.
   */
  noteShown(chatId: string, messageId: string | undefined): void {
    this.#shown.note(chatId, messageId);
  }

  #lastShown(chatId: string): string | undefined {
    return this.#shown.get(chatId) ?? loadedBy(this.#options).get(chatId);
  }

  #route(chat: string, action: string): string {
    const { app, userId, dialect } = this.#options;
    return address(this.#options, ['api', 'chat', app, chat, action], { userId, dialect });
  }

  #chunks(
    first: Response,
    url: string,
    options: Reconnect<MESSAGE>,
    isResumed = false,
  ): ReadableStream<UIMessageChunk> {
    if (!isStream(first)) throw notWanted(first, url, 'a stream');
    const { abortSignal, chatId, headers } = options;
    const leaving = new AbortController();
    const stop = () => {
      leaving.abort(abortSignal?.reason);
      void this.#stopRun(first, chatId);
    };
    abortSignal?.addEventListener('abort', stop, { once: true });
    const events = follow({
      first,
      reopen: (after) => this.#reopen(first, isResumed ? url : '', after, plain(headers)),
      isEnd: ({ data }) => data === DONE || data.startsWith(ERROR),
      onConnection: this.#options.onConnection,
      signal: leaving.signal,
    });
    const noteStart = (messageId: string | undefined) => this.noteShown(chatId, messageId);
    return new ReadableStream({
      async pull(controller) {
        const { value } = await events.next();
        if (value && value.data !== DONE) {
          const chunk = JSON.parse(value.data) as UIMessageChunk;
          if (chunk.type === 'start') noteStart(chunk.messageId);
          return controller.enqueue(chunk);
        }
        await events.return();
        controller.close();
      },
      cancel: () => leaving.abort(),
    });
  }

  /**
   * Ask for what follows a frame. A resumed message, which several runs may have written, is asked for again where it
   * came from, and once it is complete, the rest of its last run: its frames are named `run:position`.
   */
  async #reopen(
    first: Response,
    resumed: string,
    id: string,
    headers: Record<string, string>,
  ): Promise<Reopened | null> {
    const last = first.headers.get(RUN);
    if (!last) throw new PrismError(NAMELESS, { status: 200, url: first.url });
    const [position = '', run] = id.split(':').reverse();
    const init = { headers: { ...headers, ...STREAM } };
    if (resumed) {
      const response = await request(this.#options, resumed, init);
      if (response.headers.get(RUN) === last) return { response, isWhole: true };
      void response.body?.cancel().catch(() => {});
      if (run !== last) throw new PrismError(COMPLETED, { status: response.status, url: resumed });
    }
    const query = { as: 'ai-sdk', dialect: this.#options.dialect, after: position };
    const response = await request(this.#options, address(this.#options, ['api', 'runs', last, 'stream'], query), init);
    return response.status === 204 ? null : { response };
  }

  async #stopRun(response: Response, chatId: string): Promise<void> {
    if (this.#options.stopOnAbort === false) return;
    const run = response.headers.get(RUN);
    // By its name, so that a stop that is late cannot stop the next run.
    const stopping = run
      ? json(this.#options, address(this.#options, ['api', 'runs', run, 'cancel']), 'POST')
      : this.stop(chatId);
    // Nobody waits for this: where the server cannot be reached, the chat has been left all the same.
    await stopping.catch(() => {});
  }

  /** Leave a run that was started after nobody wanted it any more. */
  #leave(response: Response, chatId: string): void {
    void response.body?.cancel().catch(() => {});
    void this.#stopRun(response, chatId);
  }
}

function plain(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}

/** Wait for a value, unless nobody wants it any more: then hand it to `late`, whenever it comes. */
function unlessAborted<Value>(
  coming: Promise<Value>,
  signal: AbortSignal | undefined,
  late: (value: Value) => void,
): Promise<Value> {
  if (!signal) return coming;
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason as Error);
      coming.then(late, () => {});
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    coming.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
