/**
 * One conversation by voice: the line to the agent, the microphone and the loudspeaker, and what the person does
 * meanwhile. The messages go to the chat that it is part of; ended, the chat goes on in writing.
 */
import { address, path } from '../app/serverUrl';
import { ticketed } from '../app/downloadTicket';
import type { Conversation } from '../chat/conversation';
import type { DecisionMore, Live } from '../chat/connectionState';
import type { Message } from '../chat/message';
import { Captions } from './captions';
import { VoiceSocket, type Frame, type SocketState, type Told } from './voiceSocket';
import { levelOf, Microphone, NoMicrophone } from './microphone';
import { keepMode, readMode, type Mode } from './mode';
import { Speaker } from './speaker';
import { begun, type Status } from './status';

/** Milliseconds for which the microphone stays open after the key is let go: it is a little behind. */
const TAIL = 120;

/** The code of an answer that does not fit. */
const UNFITTING = 'unprocessable';

/** After these, sound is no longer that of the speech which was cut off. */
const FRESH: ReadonlySet<string> = new Set(['data-interrupted', 'start', 'text-start', 'finish']);

/** What the person has said that is not being answered yet. */
type Asked = 'nothing' | 'aloud' | 'in writing';

export class Voice implements Live {
  saying = '';
  private status: Status = begun(readMode());
  private readonly watchers = new Set<() => void>();
  private readonly meters = new Set<(level: number) => void>();
  private readonly speaker = new Speaker(
    (heard) => this.onHeard(heard.isPlaying, heard.level),
    (problem) => this.set({ problem }),
  );
  private readonly captions: Captions;
  private line: VoiceSocket;
  private microphone: Microphone | null = null;
  private run = '';
  /** This line has told which run it is; it does so before it answers anything. */
  private isJoined = false;
  private position = '';
  /** Whether sound that still comes belongs to what was interrupted. */
  private isDeaf = false;
  private lastHeard = '';
  private asked: Asked = 'nothing';
  /** The agent was cut off while the line was lost; the server is told when it is back. */
  private isCut = false;
  /** What was given with the last approval. */
  private given: { approval: string; payload: unknown } | null = null;
  /** The model was told that the person speaks. */
  private isHeard = false;
  private releasing = 0;
  private isClosed = false;

  constructor(private readonly conversation: Conversation) {
    this.captions = new Captions({
      show: (message) => conversation.show(message),
      find: (id) => conversation.chat.messages.find((message) => message.id === id),
      onSaying: (id, waits) => this.onSaying(id, waits),
    });
    this.line = this.newLine();
  }

  // --- for whoever shows it

  readonly watch = (notify: () => void): (() => void) => {
    this.watchers.add(notify);
    return () => this.watchers.delete(notify);
  };

  readonly getStatus = (): Status => this.status;

  /** Be told how loud the agent is, or else the person, many times a second. */
  readonly meter = (show: (level: number) => void): (() => void) => {
    this.meters.add(show);
    return () => this.meters.delete(show);
  };

  private set(change: Partial<Status>): void {
    const keys = Object.keys(change) as (keyof Status)[];
    if (keys.every((key) => Object.is(change[key], this.status[key]))) return;
    this.status = { ...this.status, ...change };
    for (const notify of this.watchers) notify();
  }

  // --- begin and end

  start(): void {
    this.conversation.join(this);
    void this.line.open();
    void this.listen();
    addEventListener('pagehide', this.leave);
  }

  /** End it; the chat then shows what the server has kept. */
  async end(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    removeEventListener('pagehide', this.leave);
    clearTimeout(this.releasing);
    this.microphone?.close();
    this.speaker.close();
    await this.line.end();
    this.captions.close();
    await this.conversation.part(this);
  }

  private readonly leave = (): void => void this.end();

  private newLine(): VoiceSocket {
    const line: VoiceSocket = new VoiceSocket(() => this.address(), {
      onState: (state) => line === this.line && this.onState(state),
      onTold: (told) => this.onTold(told),
      onSound: (pcm, rate) => this.onSound(pcm, rate),
    });
    return line;
  }

  private address(): Promise<string> {
    const { app, session, user } = this.conversation.where;
    const turns = this.status.mode === 'hold' ? 'manual' : 'detected';
    const query = new URLSearchParams({ session, userId: user, audio: 'binary', dialect: '7', turns });
    if (this.position) query.set('after', this.position);
    return ticketed(address(`${path('api', 'live', app)}?${query}`));
  }

  // --- the microphone

  /** Ask for the microphone; again, if it was not given. */
  async listen(): Promise<void> {
    this.set({ mic: { kind: 'asking' } });
    try {
      const microphone = await Microphone.open(
        (pcm) => this.hear(pcm),
        () => this.lack('The microphone was disconnected.'),
      );
      if (this.isClosed || this.status.line.kind === 'over') {
        microphone.close();
        return;
      }
      this.microphone = microphone;
      microphone.isOn = false;
      this.set({ mic: { kind: 'off' } });
      if (this.status.mode === 'open') this.press();
    } catch (error) {
      if (!(error instanceof NoMicrophone)) throw error;
      this.lack(error.message);
    }
  }

  private lack(reason: string): void {
    if (this.status.mic.kind === 'on') this.control('stop');
    this.microphone?.close();
    this.microphone = null;
    if (!this.isClosed) this.set({ mic: { kind: 'none', reason } });
  }

  private hear(pcm: ArrayBuffer): void {
    if (this.status.mic.kind !== 'on') return;
    if (!this.status.isSpeaking) this.show(levelOf(pcm));
    this.line.sendSound(pcm);
  }

  /** Send what the microphone hears, from now on. */
  readonly press = (): void => {
    clearTimeout(this.releasing);
    this.speaker.wake();
    if (!this.microphone || this.status.mic.kind !== 'off') return;
    if (this.status.mode === 'hold') this.hush();
    this.microphone.isOn = true;
    this.control('start');
    this.set({ mic: { kind: 'on' }, problem: '' });
  };

  /** Let the key go. */
  readonly release = (): void => {
    clearTimeout(this.releasing);
    this.releasing = window.setTimeout(this.mute, TAIL);
  };

  /** Send no more of what it hears. */
  readonly mute = (): void => {
    clearTimeout(this.releasing);
    if (!this.microphone || this.status.mic.kind !== 'on') return;
    this.microphone.isOn = false;
    this.control('stop');
    this.set({ mic: { kind: 'off' } });
    this.show(0);
  };

  /** Change how the person says when they speak. The model is told when a run begins, so another one does. */
  async setMode(mode: Mode): Promise<void> {
    if (mode === this.status.mode) return;
    keepMode(mode);
    this.mute();
    const old = this.line;
    this.set({ mode, line: { kind: 'connecting' } });
    this.line = this.newLine();
    await old.end();
    this.captions.close();
    this.position = '';
    this.isHeard = this.isCut = false;
    this.rest();
    if (this.isClosed) return;
    void this.line.open();
    if (mode === 'open') this.press();
  }

  // --- what the agent says

  private onState(line: SocketState): void {
    this.set({ line });
    if (line.kind === 'lost') this.speaker.flush();
    if (line.kind === 'open') this.switchOver();
    if (line.kind === 'over' && !this.isClosed) this.hangUp();
  }

  /** Tell a new line how the microphone stands: the server takes it to be off, and the model what it was told last. */
  private switchOver(): void {
    this.isJoined = false;
    if (this.status.mic.kind === 'on') this.control('start');
    else if (this.isHeard) this.control('stop');
  }

  private control(action: 'start' | 'stop'): void {
    if (this.line.isOpen) this.isHeard = action === 'start';
    this.line.send({ type: 'audio_control', action });
  }

  /** The server has ended it. Why is shown until the person closes it. */
  private hangUp(): void {
    this.microphone?.close();
    this.microphone = null;
    this.captions.close();
    this.set({ mic: { kind: 'off' } });
    this.rest();
    void this.conversation.part(this);
  }

  private onTold(told: Told): void {
    switch (told.type) {
      case 'session':
        this.onSession(told.run);
        break;
      case 'chunk':
        this.position = told.position;
        this.onChunk(told.chunk);
        break;
      case 'error':
        this.set({ problem: told.errorText });
        this.ask('nothing');
        if (this.given && told.code === UNFITTING) this.conversation.refusals.add(this.given.approval, { reason: told.errorText, given: this.given.payload });
        break;
      case 'pong':
        if (this.run && !this.isJoined) this.forget();
        break;
      case 'audio':
        break;
    }
  }

  /** The run was given up while we were away, and there is no other yet. What it said to its end is in the log. */
  private forget(): void {
    this.run = this.position = '';
    this.captions.close();
    this.isCut = false;
    this.rest();
    void this.conversation.catchUp();
  }

  private onSession(run: string): void {
    const { isCut } = this;
    if (this.run && run !== this.run) this.forget();
    this.captions.follow(run);
    this.run = run;
    this.isJoined = true;
    this.isCut = false;
    if (isCut) this.line.send({ type: 'interrupt' });
    this.set({ isNew: false });
  }

  private onChunk(chunk: Extract<Told, { type: 'chunk' }>['chunk']): void {
    if (chunk.type === 'data-interrupted') this.speaker.flush();
    if (FRESH.has(chunk.type)) this.isDeaf = false;
    if (chunk.type === 'data-input-transcription') {
      // Who is spoken to falls silent, also while it only plays what it has said before.
      if (chunk.id !== this.lastHeard) this.speaker.flush();
      this.lastHeard = chunk.id ?? '';
      this.ask('aloud');
    }
    // A transcript may be late: the message that ends is its answer. What was typed is answered by one that begins.
    if (chunk.type === 'start' || (chunk.type === 'finish' && this.asked === 'aloud')) this.asked = 'nothing';
    if (chunk.type === 'error') this.set({ problem: chunk.errorText });
    this.captions.take(chunk);
  }

  private onSaying(id: string, waits: number): void {
    this.saying = id;
    this.set({ isBusy: this.isAwaited, waits });
    this.conversation.notify();
  }

  /** Whether the agent says something, or is about to. */
  private get isAwaited(): boolean {
    return this.saying !== '' || this.asked !== 'nothing';
  }

  private ask(asked: Asked): void {
    this.asked = asked;
    this.set({ isBusy: this.isAwaited });
  }

  /** Nothing more is to come. */
  private rest(): void {
    this.asked = 'nothing';
    this.set({ isBusy: false, waits: 0 });
  }

  private onSound(pcm: ArrayBuffer, rate: number): void {
    if (!this.isDeaf && !this.isClosed) this.speaker.play(pcm, rate);
  }

  private onHeard(isPlaying: boolean, level: number): void {
    if (isPlaying || this.status.isSpeaking) this.show(isPlaying ? level : 0);
    this.set({ isSpeaking: isPlaying });
  }

  private show(level: number): void {
    for (const show of this.meters) show(level);
  }

  private hush(): void {
    this.isDeaf ||= this.saying !== '' && this.status.isSpeaking;
    this.speaker.flush();
  }

  // --- what the person does

  say(message: Message): boolean {
    if (this.status.mode === 'hold') this.mute(); // What was said before comes first.
    this.hush();
    this.speaker.wake();
    const isTaken = this.tell({ type: 'message', id: this.conversation.where.session, messages: [message], trigger: 'submit-message' });
    if (isTaken) {
      this.isCut = false; // A message cuts off by itself what was said before it.
      this.ask('in writing');
    }
    return isTaken;
  }

  /** Cut the agent off, also before its first word. If only its echo is left here, there is nobody to tell. */
  readonly interrupt = (): void => {
    this.hush();
    if (!this.isAwaited) return;
    if (this.line.isOpen) this.line.send({ type: 'interrupt' });
    else this.isCut = true;
    this.ask('nothing');
  };

  decide(approval: string, approved: boolean, { reason, payload }: DecisionMore = {}): void {
    this.given = payload === undefined ? null : { approval, payload };
    this.tell({ type: 'approval', approvalId: approval, approved, reason: reason || undefined, payload });
  }

  answer(call: string, output: unknown): void {
    this.tell({ type: 'tool_result', toolCallId: call, result: output });
  }

  fail(call: string, errorText: string): void {
    this.tell({ type: 'tool_result', toolCallId: call, errorText });
  }

  private tell(frame: Frame): boolean {
    const isTaken = this.line.sendSurely(frame);
    this.set({ problem: isTaken ? '' : 'Not sent: too many messages are already waiting for the connection.' });
    return isTaken;
  }
}
