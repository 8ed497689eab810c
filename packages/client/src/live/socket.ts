/**
 * The socket to a live agent, which comes back when it is lost, within the time that the server keeps the run. What
 * must arrive is sent again on the next one, unless a sign of life came after it; sound is not.
 */
import type { UIMessageChunk } from 'ai';

export type ServerMessage =
  | { type: 'session'; run: string; session: string; after: string }
  | { type: 'chunk'; position: string; chunk: UIMessageChunk }
  | { type: 'audio'; sampleRate: number; channels: number; bitDepth: number }
  | { type: 'error'; code: string; errorText: string }
  | { type: 'pong'; timestamp: number };

export type Frame = Readonly<Record<string, unknown>> & { type: string };

export type SocketState =
  | { kind: 'connecting' }
  | { kind: 'open' }
  | { kind: 'lost'; attempt: number }
  /** For good; an empty reason: because it was wanted. */
  | { kind: 'over'; reason: string };

export type Listener = {
  onState(state: SocketState): void;
  onMessage(message: ServerMessage): void;
  onSound(pcm: ArrayBuffer, rate: number): void;
};

/**
 * What ends a connection for good, by the code that the server closes with. After any other it is worth coming back.
 */
const ENDS: Readonly<Record<number, string>> = {
  1000: '',
  1008: 'The server closed the connection: it received too many messages, or one that it does not understand.',
  1009: 'The server closed the connection: a message was too large.',
  1011: 'The run failed. Everything up to then is saved.',
  4001: 'The voice chat continues in another window.',
  4009: 'Another window is using voice in this conversation. End it there first.',
};

/** Seconds before each attempt to come back. Together they are longer than any sensible grace period. */
const BACKOFF = [0.2, 0.5, 1, 2, 3, 4, 5, 5, 5, 5];
/** Attempts of a socket that has never been open: it may well be refused. */
const FIRST_ATTEMPTS = 3;
/** Seconds between signs of life that we ask for, and how long to believe a socket that gives none. */
const PING = 4;
const SILENT = 10;
/** Seconds that the server has for the end of a run. */
const FAREWELL = 3;
/** Frames that wait for a sign of life: whoever writes more than this while the connection is lost is not a person. */
const MOST_UNSURE = 32;
const UNREACHABLE = 'Could not connect: the server cannot be reached or refuses the connection.';

export class LiveSocket {
  readonly #address: () => Promise<string>;
  readonly #listener: Listener;
  #socket: WebSocket | null = null;
  #state: SocketState = { kind: 'connecting' };
  /** What may not have arrived, oldest first, and the ping that was sent after it. */
  #unsure: { ping: number; text: string }[] = [];
  #pings = 0;
  #rate = 24_000;
  #attempt = 0;
  /** Since when a ping waits for its answer; 0: none does. Timers of a page in the background are late by minutes. */
  #askedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #ending: (() => void) | null = null;

  /** `address` is asked for anew each time: it says where to go on, and may hold a ticket. */
  constructor(address: () => Promise<string>, listener: Listener) {
    this.#address = address;
    this.#listener = listener;
  }

  async open(): Promise<void> {
    let at: string;
    try {
      at = await this.#address();
    } catch (error) {
      this.#lose(error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#state.kind === 'over') return;
    const socket = new WebSocket(at);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    // One that was given up may still say something.
    socket.onopen = () => socket === this.#socket && this.#onOpen();
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) =>
      socket === this.#socket && this.#onMessage(data);
    socket.onclose = ({ code }) => socket === this.#socket && this.#onClose(code);
  }

  /** Send a frame that means something only now. */
  send(frame: Frame): void {
    if (this.isOpen) this.#socket?.send(written(frame));
  }

  /** Send a frame that must arrive: now, or when the socket is open. Return whether there was room for it. */
  sendSurely(frame: Frame): boolean {
    if (this.#unsure.length >= MOST_UNSURE) return false;
    this.#pings += 1;
    this.#unsure.push({ ping: this.#pings, text: written(frame) });
    this.send(frame);
    this.#ping();
    return true;
  }

  sendSound(pcm: ArrayBuffer): void {
    if (this.isOpen) this.#socket?.send(pcm);
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** End the run; return when the server has said its last words, or has had the time. */
  async end(): Promise<void> {
    if (this.#state.kind === 'over') return;
    if (this.isOpen) {
      this.send({ type: 'close' });
      await new Promise<void>((done) => {
        this.#ending = done;
        setTimeout(done, FAREWELL * 1000);
      });
    }
    this.#finish('');
  }

  #ping(): void {
    this.#askedAt ||= performance.now();
    this.send({ type: 'ping', timestamp: this.#pings });
  }

  #onOpen(): void {
    this.#attempt = 0;
    this.#askedAt = 0;
    this.#timer = setInterval(() => this.#watch(), PING * 1000);
    this.#set({ kind: 'open' });
    for (const { text } of this.#unsure) this.#socket?.send(text);
    this.#ping();
  }

  #onMessage(data: string | ArrayBuffer): void {
    this.#askedAt = 0;
    if (data instanceof ArrayBuffer) return this.#listener.onSound(data, this.#rate);
    const message = JSON.parse(data) as ServerMessage;
    if (message.type === 'audio') this.#rate = message.sampleRate;
    if (message.type === 'pong') this.#unsure = this.#unsure.filter(({ ping }) => ping > message.timestamp);
    this.#listener.onMessage(message);
  }

  /** A network that went away says nothing, and neither does a browser. */
  #watch(): void {
    if (this.#askedAt === 0 || performance.now() - this.#askedAt < SILENT * 1000) return this.#ping();
    const silent = this.#socket;
    this.#socket = null;
    silent?.close();
    this.#onClose(1006);
  }

  #onClose(code: number): void {
    clearInterval(this.#timer);
    this.#socket = null;
    const reason = ENDS[code];
    if (reason !== undefined || this.#ending) this.#finish(reason ?? '');
    else this.#lose(UNREACHABLE);
  }

  #lose(reason: string): void {
    if (this.#state.kind === 'over') return;
    const isNew = this.#state.kind === 'connecting';
    const seconds = BACKOFF[this.#attempt];
    if (seconds === undefined || (isNew && this.#attempt >= FIRST_ATTEMPTS)) return this.#finish(reason);
    this.#attempt += 1;
    if (!isNew) this.#set({ kind: 'lost', attempt: this.#attempt });
    setTimeout(() => this.#state.kind !== 'over' && void this.open(), seconds * 1000);
  }

  #finish(reason: string): void {
    clearInterval(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
    if (this.#state.kind !== 'over') this.#set({ kind: 'over', reason });
    this.#ending?.();
  }

  #set(state: SocketState): void {
    this.#state = state;
    this.#listener.onState(state);
  }
}

function written(frame: Frame): string {
  return JSON.stringify({ version: '1.0', ...frame });
}
