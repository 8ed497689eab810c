/** One conversation by voice: the socket to the agent, the microphone and the loudspeaker, and what the person does. */
import { address, json, uniqueKey, type Connection } from '../connection.ts';
import type { PrismUIMessage } from '../prism.ts';
import { Captions } from './captions.ts';
import { levelOf, Microphone, NoMicrophone } from './microphone.ts';
import { LiveSocket, type Frame, type SocketState, type ServerMessage } from './socket.ts';
import { Speaker } from './speaker.ts';

/** How a person says when they speak: by holding a button, or by speaking. */
export type Mode = 'hold' | 'open';

export type Mic =
  | { kind: 'asking' }
  /** Nothing that it hears is sent. */
  | { kind: 'off' }
  | { kind: 'on' }
  | { kind: 'none'; reason: string };

export type LiveState = {
  connection: SocketState;
  mic: Mic;
  mode: Mode;
  /** What was said; empty where a `chat` shows it. */
  messages: readonly PrismUIMessage[];
  /** The agent can be heard. */
  isSpeaking: boolean;
  /** It says something, or is about to. */
  isBusy: boolean;
  /** The message that it is saying; empty while it says none. */
  saying: string;
  /** How many of its calls wait for the person, or for the page. */
  waits: number;
  /** Nothing has been said yet. */
  isNew: boolean;
  /** What went wrong last, and ends nothing; empty: nothing did. */
  problem: string;
};

/** A chat that shows what is said, in place of `LiveState.messages`. */
export type LiveChat = {
  /** Add a message, or put it in the place of an earlier state of it. */
  show(message: PrismUIMessage): void;
  find(id: string): PrismUIMessage | undefined;
  /** Something was said while nobody listened: load the messages. */
  catchUp(): void;
};

export type LiveOptions = Connection & {
  chatId: string;
  mode?: Mode;
  messages?: readonly PrismUIMessage[];
  chat?: LiveChat;
  /**
   * Whether to ask for a ticket first: on servers with authentication, where a socket can bring no header. Default:
   * with `headers`.
   */
  ticket?: boolean;
  /**
   * Addresses of the two worklets, for bundlers that do not find them: `@adk-prism/client/microphone.worklet.js` and
   * `…/speaker.worklet.js`.
   */
  worklets?: { microphone: string | URL; speaker: string | URL };
  /** Be told that what was given with an approval does not fit. */
  onRefused?: (approvalId: string, reason: string, payload: unknown) => void;
};

/** Milliseconds for which the microphone stays open after the button is let go: it is a little behind. */
const TAIL = 120;

/** The code of an answer that does not fit. */
const UNFITTING = 'unprocessable';

/** After these, sound is no longer that of the speech which was cut off. */
const FRESH: ReadonlySet<string> = new Set(['data-interrupted', 'start', 'text-start', 'finish']);

/** What the person has said that is not being answered yet. */
type Asked = 'nothing' | 'aloud' | 'in writing';

type Chunk = Extract<ServerMessage, { type: 'chunk' }>['chunk'];

const BEGUN = {
  connection: { kind: 'connecting' },
  mic: { kind: 'asking' },
  isSpeaking: false,
  isBusy: false,
  saying: '',
  waits: 0,
  isNew: true,
  problem: '',
} as const;

export function begun(mode: Mode, messages: readonly PrismUIMessage[] = []): LiveState {
  return { ...BEGUN, mode, messages };
}

export class Live {
  readonly #options: LiveOptions;
  readonly #listeners = new Set<() => void>();
  readonly #meters = new Set<(level: number) => void>();
  readonly #speaker: Speaker;
  readonly #captions: Captions;
  #socket: LiveSocket;
  #state: LiveState;
  #microphone: Microphone | null = null;
  #position = '';
  #asked: Asked = 'nothing';
  /** Whether sound that still comes belongs to what was interrupted. */
  #isDeaf = false;
  /** The agent was cut off while the connection was lost; the server is told when it is back. */
  #isCut = false;
  /** The model was told that the person speaks. */
  #isHeard = false;
  #lastHeard = '';
  /** What was given with the last approval. */
  #given: { approvalId: string; payload: unknown } | null = null;
  /** The run that is followed, and whether this socket has told so: it does before it answers anything. */
  #run = '';
  #isJoined = false;
  #isStarted = false;
  #isClosed = false;
  #releasing: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#state = begun(options.mode ?? 'hold', options.messages);
    this.#speaker = new Speaker(
      options.worklets?.speaker ?? new URL('./speaker.worklet.js', import.meta.url),
      (isPlaying, level) => this.#onHeard(isPlaying, level),
      (problem) => this.#set({ problem }),
    );
    this.#captions = new Captions({
      show: (message) => this.#show(message),
      find: (id) => (options.chat ? options.chat.find(id) : this.#state.messages.find((message) => message.id === id)),
      onSaying: (saying, waits) => this.#set({ saying, waits, isBusy: saying !== '' || this.#asked !== 'nothing' }),
    });
    this.#socket = this.#newSocket();
  }

  /** Whether the agent can be heard on this page; elsewhere it is read. */
  static get isAudible(): boolean {
    return Speaker.isPossible;
  }

  readonly getState = (): LiveState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Be told how loud the agent is, or else the person, from 0 to 1, many times a second. */
  readonly meter = (show: (level: number) => void): (() => void) => {
    this.#meters.add(show);
    return () => this.#meters.delete(show);
  };

  // --- begin and end

  /** Connect, and ask for the microphone. Call it when the person pressed something: else browsers stay silent. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#speaker.wake();
    void this.#socket.open();
    void this.listen();
  }

  /** Whether it has ended; another one begins anew. */
  get isOver(): boolean {
    return this.#isClosed || this.#state.connection.kind === 'over';
  }

  /** End the conversation, if it has begun. What was said is in the chat. */
  async end(): Promise<void> {
    if (this.#isClosed || !this.#isStarted) return;
    this.#isClosed = true;
    clearTimeout(this.#releasing);
    this.#microphone?.close();
    this.#speaker.close();
    await this.#socket.end();
    this.#captions.close();
  }

  #newSocket(): LiveSocket {
    const socket: LiveSocket = new LiveSocket(() => this.#address(), {
      onState: (connection) => socket === this.#socket && this.#onState(connection),
      onMessage: (message) => this.#onMessage(message),
      onSound: (pcm, rate) => !this.#isDeaf && !this.#isClosed && this.#speaker.play(pcm, rate),
    });
    return socket;
  }

  async #address(): Promise<string> {
    const { app, userId, chatId, headers, ticket = headers !== undefined } = this.#options;
    const turns = this.#state.mode === 'hold' ? 'manual' : 'detected';
    const query = { session: chatId, userId, audio: 'binary', dialect: '7', turns, after: this.#position };
    const here = new URL(address(this.#options, ['api', 'live', app], query), globalThis.location?.href);
    if (ticket) {
      const asked = { url: address({ server: '' }, ['api', 'live', app], query) };
      const issued = await json<{ ticket: string }>(
        this.#options,
        address(this.#options, ['api', 'tickets']),
        'POST',
        asked,
      );
      here.searchParams.set('ticket', issued.ticket);
    }
    return here.href.replace(/^http/, 'ws');
  }

  // --- the microphone

  /** Ask for the microphone; again, if it was not given. */
  async listen(): Promise<void> {
    this.#set({ mic: { kind: 'asking' } });
    try {
      const worklet = this.#options.worklets?.microphone ?? new URL('./microphone.worklet.js', import.meta.url);
      const microphone = await Microphone.open(
        worklet,
        (pcm) => this.#hear(pcm),
        () => this.#lack('The microphone was disconnected.'),
      );
      if (this.isOver) return microphone.close();
      this.#microphone = microphone;
      microphone.isOn = false;
      this.#set({ mic: { kind: 'off' } });
      if (this.#state.mode === 'open') this.press();
    } catch (error) {
      if (!(error instanceof NoMicrophone)) throw error;
      this.#lack(error.message);
    }
  }

  #lack(reason: string): void {
    if (this.#state.mic.kind === 'on') this.#control('stop');
    this.#microphone?.close();
    this.#microphone = null;
    if (!this.#isClosed) this.#set({ mic: { kind: 'none', reason } });
  }

  #hear(pcm: ArrayBuffer): void {
    if (this.#state.mic.kind !== 'on') return;
    if (!this.#state.isSpeaking) this.#showLevel(levelOf(pcm));
    this.#socket.sendSound(pcm);
  }

  /** Send what the microphone hears, from now on. */
  readonly press = (): void => {
    clearTimeout(this.#releasing);
    this.#speaker.wake();
    if (!this.#microphone || this.#state.mic.kind !== 'off') return;
    if (this.#state.mode === 'hold') this.#hush();
    this.#microphone.isOn = true;
    this.#control('start');
    this.#set({ mic: { kind: 'on' }, problem: '' });
  };

  /** Let the button go. */
  readonly release = (): void => {
    clearTimeout(this.#releasing);
    this.#releasing = setTimeout(this.mute, TAIL);
  };

  /** Send no more of what the microphone hears. */
  readonly mute = (): void => {
    clearTimeout(this.#releasing);
    if (!this.#microphone || this.#state.mic.kind !== 'on') return;
    this.#microphone.isOn = false;
    this.#control('stop');
    this.#set({ mic: { kind: 'off' } });
    this.#showLevel(0);
  };

  /** Change how the person says when they speak. The model is told when a run begins, so another one does. */
  async setMode(mode: Mode): Promise<void> {
    if (mode === this.#state.mode) return;
    this.mute();
    const old = this.#socket;
    this.#set({ mode, connection: { kind: 'connecting' } });
    this.#socket = this.#newSocket();
    await old.end();
    this.#captions.close();
    this.#position = '';
    this.#isHeard = this.#isCut = false;
    this.#rest();
    if (this.#isClosed) return;
    void this.#socket.open();
    if (mode === 'open') this.press();
  }

  #control(action: 'start' | 'stop'): void {
    if (this.#socket.isOpen) this.#isHeard = action === 'start';
    this.#socket.send({ type: 'audio_control', action });
  }

  // --- what the person does

  /** Type something. Return whether there was room for it while the connection is lost. */
  readonly say = (text: string): boolean => {
    const message: PrismUIMessage = { id: uniqueKey(), role: 'user', parts: [{ type: 'text', text }] };
    const isTaken = this.send(message);
    if (isTaken) this.#show(message);
    return isTaken;
  };

  /** Send a message that the caller shows. Return as `say` does. */
  readonly send = (message: PrismUIMessage): boolean => {
    if (this.#state.mode === 'hold') this.mute(); // What was said before comes first.
    this.#hush();
    this.#speaker.wake();
    const isTaken = this.#tell({
      type: 'message',
      id: this.#options.chatId,
      messages: [message],
      trigger: 'submit-message',
    });
    if (isTaken) {
      this.#isCut = false; // A message cuts off by itself what was said before it.
      this.#ask('in writing');
    }
    return isTaken;
  };

  /** Cut the agent off, also before its first word. If only its echo is left here, there is nobody to tell. */
  readonly interrupt = (): void => {
    this.#hush();
    if (!this.#state.isBusy) return;
    if (this.#socket.isOpen) this.#socket.send({ type: 'interrupt' });
    else this.#isCut = true;
    this.#ask('nothing');
  };

  readonly decide = (
    approvalId: string,
    approved: boolean,
    { reason, payload }: { reason?: string; payload?: unknown } = {},
  ): void => {
    this.#given = payload === undefined ? null : { approvalId, payload };
    this.#tell({ type: 'approval', approvalId, approved, ...(reason && { reason }), payload });
  };

  /** Give the result of a tool that the page runs. */
  readonly answer = (toolCallId: string, result: unknown): void => {
    this.#tell({ type: 'tool_result', toolCallId, result });
  };

  readonly fail = (toolCallId: string, errorText: string): void => {
    this.#tell({ type: 'tool_result', toolCallId, errorText });
  };

  #tell(frame: Frame): boolean {
    const isTaken = this.#socket.sendSurely(frame);
    this.#set({ problem: isTaken ? '' : 'Not sent: too many messages are already waiting for the connection.' });
    return isTaken;
  }

  // --- what the agent says

  #onState(connection: SocketState): void {
    this.#set({ connection });
    if (connection.kind === 'lost') this.#speaker.flush();
    if (connection.kind === 'open') this.#switchOver();
    if (connection.kind === 'over' && !this.#isClosed) this.#hangUp();
  }

  /**
   * Tell a new socket how the microphone stands: the server takes it to be off, and the model what it was told last.
   */
  #switchOver(): void {
    this.#isJoined = false;
    if (this.#state.mic.kind === 'on') this.#control('start');
    else if (this.#isHeard) this.#control('stop');
  }

  /** The server has ended it. */
  #hangUp(): void {
    this.#microphone?.close();
    this.#microphone = null;
    this.#captions.close();
    this.#set({ mic: { kind: 'off' } });
    this.#rest();
  }

  #onMessage(message: ServerMessage): void {
    if (message.type === 'session') this.#onSession(message.run);
    else if (message.type === 'pong' && this.#run && !this.#isJoined) this.#forget();
    else if (message.type === 'error') this.#onError(message.errorText, message.code);
    else if (message.type === 'chunk') {
      this.#position = message.position;
      this.#onChunk(message.chunk);
    }
  }

  #onError(problem: string, code: string): void {
    this.#set({ problem });
    this.#ask('nothing');
    if (this.#given && code === UNFITTING)
      this.#options.onRefused?.(this.#given.approvalId, problem, this.#given.payload);
  }

  /** The run was given up while we were away, and there is no other yet. What it said to its end is in the log. */
  #forget(): void {
    this.#run = this.#position = '';
    this.#captions.close();
    this.#isCut = false;
    this.#rest();
    this.#options.chat?.catchUp();
  }

  #onSession(run: string): void {
    const isCut = this.#isCut;
    if (this.#run && run !== this.#run) this.#forget();
    this.#captions.follow(run);
    this.#run = run;
    this.#isJoined = true;
    this.#isCut = false;
    if (isCut) this.#socket.send({ type: 'interrupt' });
    this.#set({ isNew: false });
  }

  #onChunk(chunk: Chunk): void {
    if (chunk.type === 'data-interrupted') this.#speaker.flush();
    if (FRESH.has(chunk.type)) this.#isDeaf = false;
    if (chunk.type === 'data-input-transcription') {
      // Who is spoken to falls silent, also while it only plays what it has said before.
      if (chunk.id !== this.#lastHeard) this.#speaker.flush();
      this.#lastHeard = chunk.id ?? '';
      this.#ask('aloud');
    }
    // A transcript may be late: the message that ends is its answer. What was typed is answered by one that begins.
    if (chunk.type === 'start' || (chunk.type === 'finish' && this.#asked === 'aloud')) this.#asked = 'nothing';
    if (chunk.type === 'error') this.#set({ problem: chunk.errorText });
    this.#captions.take(chunk);
  }

  #onHeard(isPlaying: boolean, level: number): void {
    if (isPlaying || this.#state.isSpeaking) this.#showLevel(isPlaying ? level : 0);
    this.#set({ isSpeaking: isPlaying });
  }

  #hush(): void {
    this.#isDeaf ||= this.#state.saying !== '' && this.#state.isSpeaking;
    this.#speaker.flush();
  }

  #ask(asked: Asked): void {
    this.#asked = asked;
    this.#set({ isBusy: this.#state.saying !== '' || asked !== 'nothing' });
  }

  /** Nothing more is to come. */
  #rest(): void {
    this.#asked = 'nothing';
    this.#set({ isBusy: false, waits: 0 });
  }

  // --- for whoever shows it

  #show(message: PrismUIMessage): void {
    if (this.#options.chat) return this.#options.chat.show(message);
    const { messages } = this.#state;
    const place = messages.findLastIndex(({ id }) => id === message.id);
    this.#set({ messages: place < 0 ? [...messages, message] : messages.with(place, message) });
  }

  #showLevel(level: number): void {
    for (const show of this.#meters) show(level);
  }

  #set(change: Partial<LiveState>): void {
    const keys = Object.keys(change) as (keyof LiveState)[];
    if (keys.every((key) => Object.is(change[key], this.#state[key]))) return;
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
