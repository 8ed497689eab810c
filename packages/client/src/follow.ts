/**
 * A stream of server-sent events that goes on where it broke off. The run belongs to the server, so a lost connection
 * loses nothing: whoever reads sees one stream, with every event once.
 */
import { delay, isAway } from './connection.ts';
import { ConnectionError, notWanted } from './errors.ts';
import { SseParser, type StudioEvent } from './studio-client.ts';

export type ServerEvent = StudioEvent;

export type Stream = {
  /** The response whose body is read first. */
  first: Response;
  /** Ask for what follows an event, by its id (empty: for everything). Null: there is nothing more. */
  reopen(after: string): Promise<Reopened | null>;
  /** Tell whether an event is the last one. */
  isEnd(event: ServerEvent): boolean;
  /** Called when the connection was lost, and when it is back. */
  onConnection?: ((state: ConnectionState) => void) | undefined;
  signal?: AbortSignal | undefined;
};

export type Reopened = {
  response: Response;
  /** It begins at the beginning: what was read before is passed over. */
  isWhole?: boolean;
};

export type ConnectionState = 'connected' | 'reconnecting';

/** Milliseconds before each attempt to come back that follows one without a new event. */
const PAUSES = [300, 1000, 2000, 4000, 8000, 8000];

/** Yield the events of a stream. Throw `ConnectionError` if it cannot be gone on with. */
export async function* follow(stream: Stream): AsyncGenerator<ServerEvent, void> {
  let open: Reopened | null = { response: stream.first };
  let last = '';
  let attempt = 0;
  while (open) {
    let isKnown = open.isWhole === true && last !== '';
    for await (const event of eventsOf(open.response, last, stream.signal)) {
      if (isKnown) {
        isKnown = event.id !== last;
      } else {
        last = event.id;
        attempt = 0;
        yield event;
      }
      if (stream.isEnd(event)) return;
    }
    stream.onConnection?.('reconnecting');
    [open, attempt] = await comeBack(stream, last, attempt);
    stream.onConnection?.('connected');
  }
}

/** Try until the server answers; return the answer, and the number of the next attempt. */
async function comeBack(stream: Stream, last: string, first: number): Promise<[Reopened | null, number]> {
  for (let attempt = first; ; attempt++) {
    const pause = PAUSES[attempt];
    if (pause === undefined) throw new ConnectionError(stream.first.url);
    await delay(pause, stream.signal);
    try {
      return [await stream.reopen(last), attempt + 1];
    } catch (error) {
      if (!isAway(error)) throw error;
    }
  }
}

/** Yield the events of one response, until it ends or breaks off. */
async function* eventsOf(response: Response, last: string, signal?: AbortSignal): AsyncGenerator<ServerEvent, void> {
  if (!isStream(response)) throw notWanted(response, response.url, 'a stream');
  const parser = new SseParser(last);
  const reader = response.body!.getReader();
  const leave = () => void reader.cancel().catch(() => {});
  signal?.addEventListener('abort', leave, { once: true });
  try {
    for (let piece = await read(reader); piece; piece = await read(reader)) yield* parser.push(piece);
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', leave);
    leave();
  }
}

export function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** Return the next piece; nothing where the response ends, also where it breaks off: the events tell which. */
async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return (await reader.read()).value;
  } catch {
    return undefined;
  }
}
