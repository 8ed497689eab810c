/** One conversation by voice: the socket to the agent, the microphone and the loudspeaker, and what the person does. */
import { address, json, uniqueKey, type Connection } from '../connection.ts';
import type { PrismUIMessage } from '../prism.ts';
import { Captions } from './captions.ts';
import { Microphone, NoMicrophone } from './microphone.ts';
import { LiveSocket, type Frame, type SocketState, type Told } from './socket.ts';
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
  messages: readonly PrismUIMessage[];
  /** The agent can be heard. */
  isSpeaking: boolean;
  /** It says something, or is about to. */
  isBusy: boolean;
  /** What went wrong last, and ends nothing; empty: nothing did. */
  problem: string;
};

export type LiveOptions = Connection & {
  chatId: string;
  mode?: Mode;
  messages?: readonly PrismUIMessage[];
  /** Whether to ask for a ticket first: on servers with authentication, where a socket can bring no header. Default: with `headers`. */
  ticket?: boolean;
  /** Addresses of the two worklets, for bundlers that do not find them: `@adk-prism/client/microphone.worklet.js` and `…/speaker.worklet.js`. */
  worklets?: { microphone: string | URL; speaker: string | URL };
};

/** Milliseconds for which the microphone stays open after the button is let go: it is a little behind. */
const TAIL = 120;

/** After these, sound is no longer that of the speech which was cut off. */
const FRESH: ReadonlySet<string> = new Set(['data-interrupted', 'start', 'text-start', 'finish']);

const BEGUN = { connection: { kind: 'connecting' }, mic: { kind: 'asking' }, isSpeaking: false, isBusy: false, problem: '' } as const;

export class Live {
  readonly #options: LiveOptions;
  readonly #mode: Mode;
  readonly #listeners = new Set<() => void>();
  readonly #socket: LiveSocket;
  readonly #speaker: Speaker;
  readonly #captions: Captions;
  #state: LiveState;
  #microphone: Microphone | null = null;
  #position = '';
  #saying = '';
  #isAsked = false;
  /** Whether sound that still comes belongs to what was interrupted. */
  #isDeaf = false;
  #lastHeard = '';
  /** The run that is followed, and whether this socket has told so: it does before it answers anything. */
  #run = '';
  #isJoined = false;
  #isStarted = false;
  #isClosed = false;
  #releasing: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#mode = options.mode ?? 'hold';
    this.#state = { ...BEGUN, messages: options.messages ?? [] };
    this.#speaker = new Speaker(
      options.worklets?.speaker ?? new URL('./speaker.worklet.js', import.meta.url),
      (isSpeaking) => this.#set({ isSpeaking }),
      (problem) => this.#set({ problem }),
    );
    this.#captions = new Captions({
      show: (message) => this.#show(message),
      find: (id) => this.#state.messages.find((message) => message.id === id),
      onSaying: (id) => this.#rest({ saying: id }),
    });
    this.#socket = new LiveSocket(() => this.#address(), {
      onState: (connection) => this.#onState(connection),
      onTold: (told) => this.#onTold(told),
      onSound: (pcm, rate) => !this.#isDeaf && !this.#isClosed && this.#speaker.play(pcm, rate),
    });
  }

  readonly getState = (): LiveState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

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

  /** Ask for the microphone; again, if it was not given. */
  async listen(): Promise<void> {
    this.#set({ mic: { kind: 'asking' } });
    try {
      const worklet = this.#options.worklets?.microphone ?? new URL('./microphone.worklet.js', import.meta.url);
      const microphone = await Microphone.open(worklet, (pcm) => this.#hear(pcm), () => this.#lack('The microphone was disconnected.'));
      if (this.#isClosed || this.#state.connection.kind === 'over') return microphone.close();
      this.#microphone = microphone;
      microphone.isOn = false;
      this.#set({ mic: { kind: 'off' } });
      if (this.#mode === 'open') this.press();
    } catch (error) {
      if (!(error instanceof NoMicrophone)) throw error;
      this.#lack(error.message);
    }
  }

  /** Send what the microphone hears, from now on. */
  readonly press = (): void => {
    clearTimeout(this.#releasing);
    this.#speaker.wake();
    if (!this.#microphone || this.#state.mic.kind !== 'off') return;
    if (this.#mode === 'hold') this.#hush();
    this.#microphone.isOn = true;
    this.#socket.send({ type: 'audio_control', action: 'start' });
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
    this.#socket.send({ type: 'audio_control', action: 'stop' });
    this.#set({ mic: { kind: 'off' } });
  };

  /** Type something. Return whether there was room for it while the connection is lost. */
  readonly say = (text: string): boolean => {
    if (this.#mode === 'hold') this.mute(); // What was said before comes first.
    this.#hush();
    const message: PrismUIMessage = { id: uniqueKey(), role: 'user', parts: [{ type: 'text', text }] };
    if (!this.#tell({ type: 'message', id: this.#options.chatId, messages: [message], trigger: 'submit-message' })) return false;
    this.#show(message);
    this.#rest({ isAsked: true });
    return true;
  };

  /** Cut the agent off. */
  readonly interrupt = (): void => {
    this.#hush();
    this.#socket.send({ type: 'interrupt' });
    this.#rest({ isAsked: false });
  };

  readonly decide = (approvalId: string, approved: boolean, more: { reason?: string; payload?: unknown } = {}): void => {
    this.#tell({ type: 'approval', approvalId, approved, ...more });
  };

  /** Give the result of a tool that the page runs. */
  readonly answer = (toolCallId: string, result: unknown): void => {
    this.#tell({ type: 'tool_result', toolCallId, result });
  };

  readonly fail = (toolCallId: string, errorText: string): void => {
    this.#tell({ type: 'tool_result', toolCallId, errorText });
  };

  async #address(): Promise<string> {
    const { app, userId, chatId, headers, ticket = headers !== undefined } = this.#options;
    const turns = this.#mode === 'hold' ? 'manual' : 'detected';
    const query = { session: chatId, userId, audio: 'binary', dialect: '7', turns, after: this.#position };
    const here = new URL(address(this.#options, ['api', 'live', app], query), globalThis.location?.href);
    if (ticket) {
      const asked = { url: address({ server: '' }, ['api', 'live', app], query) };
      const issued = await json<{ ticket: string }>(this.#options, address(this.#options, ['api', 'tickets']), 'POST', asked);
      here.searchParams.set('ticket', issued.ticket);
    }
    return here.href.replace(/^http/, 'ws');
  }

  #onState(connection: SocketState): void {
    this.#set({ connection });
    if (connection.kind === 'lost') this.#speaker.flush();
    if (connection.kind === 'open') this.#isJoined = false;
    // A new socket knows nothing of the microphone.
    if (connection.kind === 'open' && this.#state.mic.kind === 'on') this.#socket.send({ type: 'audio_control', action: 'start' });
    if (connection.kind !== 'over' || this.#isClosed) return;
    this.#microphone?.close();
    this.#microphone = null;
    this.#captions.close();
    this.#set({ mic: { kind: 'off' } });
    this.#rest({ saying: '', isAsked: false });
  }

  #onTold(told: Told): void {
    if (told.type === 'session') this.#onSession(told.run);
    else if (told.type === 'pong' && this.#run && !this.#isJoined) this.#onSession('');
    else if (told.type === 'error') this.#set({ problem: told.errorText });
    else if (told.type === 'chunk') {
      this.#position = told.position;
      this.#onChunk(told.chunk);
    }
  }

  /** Follow a run; none where the last one was given up while we were away, and there is no other yet. */
  #onSession(run: string): void {
    if (run !== this.#run) this.#rest({ saying: '', isAsked: false });
    if (run === '') this.#position = '';
    this.#captions.follow(run);
    this.#run = run;
    this.#isJoined = run !== '';
  }

  #onChunk(chunk: Extract<Told, { type: 'chunk' }>['chunk']): void {
    if (chunk.type === 'data-interrupted') this.#speaker.flush();
    if (FRESH.has(chunk.type)) this.#isDeaf = false;
    if (chunk.type === 'data-input-transcription') {
      // Who is spoken to falls silent, also while it only plays what it has said before.
      if (chunk.id !== this.#lastHeard) this.#speaker.flush();
      this.#lastHeard = chunk.id ?? '';
      this.#rest({ isAsked: true });
    }
    if (chunk.type === 'start' || chunk.type === 'finish') this.#rest({ isAsked: false });
    if (chunk.type === 'error') this.#set({ problem: chunk.errorText });
    this.#captions.take(chunk);
  }

  #hear(pcm: ArrayBuffer): void {
    if (this.#state.mic.kind === 'on') this.#socket.sendSound(pcm);
  }

  #lack(reason: string): void {
    if (this.#state.mic.kind === 'on') this.#socket.send({ type: 'audio_control', action: 'stop' });
    this.#microphone?.close();
    this.#microphone = null;
    if (!this.#isClosed) this.#set({ mic: { kind: 'none', reason } });
  }

  #hush(): void {
    this.#isDeaf ||= this.#saying !== '' && this.#state.isSpeaking;
    this.#speaker.flush();
  }

  #rest({ saying = this.#saying, isAsked = this.#isAsked }: { saying?: string; isAsked?: boolean }): void {
    this.#saying = saying;
    this.#isAsked = isAsked;
    this.#set({ isBusy: saying !== '' || isAsked });
  }

  #tell(frame: Frame): boolean {
    const isTaken = this.#socket.sendSurely(frame);
    this.#set({ problem: isTaken ? '' : 'Not sent: too many messages are already waiting for the connection.' });
    return isTaken;
  }

  #show(message: PrismUIMessage): void {
    const { messages } = this.#state;
    const place = messages.findLastIndex(({ id }) => id === message.id);
    this.#set({ messages: place < 0 ? [...messages, message] : messages.with(place, message) });
  }

  #set(change: Partial<LiveState>): void {
    const keys = Object.keys(change) as (keyof LiveState)[];
    if (keys.every((key) => Object.is(change[key], this.#state[key]))) return;
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
