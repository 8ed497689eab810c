/** For AG-UI (`@ag-ui/client`): an agent that goes on where its connection broke off. */
import {
  HttpAgent,
  runHttpRequest,
  transformHttpEventStream,
  type HttpAgentConfig,
  type RunAgentInput,
} from '@ag-ui/client';
import { address, json, request, requestAgain, type Connection } from './connection.ts';
import { notWanted } from './errors.ts';
import { follow, isStream, type ConnectionState, type ServerEvent } from './follow.ts';

export * from './index.ts';

export type PrismAgentConfig = Omit<HttpAgentConfig, 'url' | 'headers' | 'fetch'> &
  Connection & {
    /** Called when the connection was lost, and when it is back. */
    onConnection?: (state: ConnectionState) => void;
  };

/** How events begin that end a run. */
const ENDS = /^{"type":"RUN_(FINISHED|ERROR)"/;

/**
 * An `HttpAgent` of an app: it reconnects inside `run()`, opens a thread with `connectAgent()`, and `abortRun()` stops
 * the run on the server.
 */
export class PrismAgent extends HttpAgent {
  readonly #config: PrismAgentConfig;

  constructor(config: PrismAgentConfig) {
    const { server, app, userId, headers, credentials, fetch, onConnection, ...rest } = config;
    const url = address(config, ['api', 'ag-ui', app], { userId });
    super({ ...rest, url, fetch: (asked, init) => this.#open(asked, init) });
    this.#config = config;
  }

  /** Stop the run, on the server, too. */
  override abortRun(): void {
    super.abortRun();
    const { app, userId } = this.#config;
    // Nobody waits for this: where the server cannot be reached, the run has been left all the same.
    void json(
      this.#config,
      address(this.#config, ['api', 'ag-ui', app, this.threadId, 'stop'], { userId }),
      'POST',
    ).catch(() => {});
  }

  override clone(): PrismAgent {
    const { threadId, messages, state, agentId, description } = this;
    return new PrismAgent({
      ...this.#config,
      ...structuredClone({ threadId, initialMessages: messages, initialState: state }),
      ...(agentId && { agentId }),
      description,
    });
  }

  /** Return the thread as the server has it: its messages, state and open interrupts, then the run in progress. */
  protected override connect(input: RunAgentInput): ReturnType<HttpAgent['run']> {
    const { app, userId } = this.#config;
    const url = address(this.#config, ['api', 'ag-ui', app, 'connect'], { userId });
    return transformHttpEventStream(runHttpRequest(() => request(this.#config, url, this.requestInit(input))));
  }

  /** Return a response whose body goes on after a cut. */
  async #open(url: string, init: RequestInit): Promise<Response> {
    // Sent again, a run's id means the same run.
    const first = await requestAgain(this.#config, url, init);
    if (first.status === 204) return first;
    if (!isStream(first)) throw notWanted(first, url, 'a stream');
    const events = follow({
      first,
      reopen: async (after) => {
        const headers = { ...Object.fromEntries(new Headers(init.headers)), ...(after && { 'last-event-id': after }) };
        const response = await request(this.#config, url, { ...init, headers });
        return response.status === 204 ? null : { response };
      },
      isEnd: ({ data }) => ENDS.test(data),
      onConnection: this.#config.onConnection,
      ...(init.signal && { signal: init.signal }),
    });
    return new Response(bytesOf(events), { headers: first.headers });
  }
}

function bytesOf(events: AsyncGenerator<ServerEvent, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value } = await events.next();
      if (value)
        controller.enqueue(encoder.encode(`id: ${value.id}\ndata: ${value.data.replaceAll('\n', '\ndata: ')}\n\n`));
      else controller.close();
    },
    cancel: () => void events.return(),
  });
}
