/**
 * One chat with the server: the AI SDK's `Chat`, and what it leaves to its user. A connection that breaks is taken up
 * again where it was; a run belongs to the server, so nothing that it says is lost.
 */
import { isWaiting } from '@adk-prism/client';
import { loadMessages, loadVersion, type PrismDataParts } from '@adk-prism/client/ai';
import { Chat } from '@ai-sdk/react';
import type { FileUIPart } from 'ai';
import { explain, getJson } from '../app/server';
import { draftKey, keepDraft } from '../app/drafts';
import type { Given } from './answerMessage';
import { askedIds, isAsking, isTool, type Message } from './message';
import { RejectedAnswers } from './ChatContext';
import { AudioCache } from './audioCache';
import { connectionOf, type Where, isLost, isStale, PageTransport } from './transport';

const CONNECTED: ConnectionState = { kind: 'connected' };

/** What is on its way to the server, if it answers what the agent asked: calls of a message, or a request by its id. */
type Answering = { kind: 'nothing' } | { kind: 'calls' } | { kind: 'request'; id: string; given: unknown };

const NOTHING: Answering = { kind: 'nothing' };

/** Seconds between attempts to come back; then the last one, for as long as it takes. */
const BACKOFF = [0.3, 1, 2, 4, 8];

/** Few chats ask for anything. */
const answers = () => import('./answerMessage');

/** The status of a refusal after which another answer may fit. */
const UNFITTING = 422;

/** Seconds that a stopped run may take to say its last words. */
const LAST_WORDS = 5;

export class Conversation {
  readonly chat: Chat<Message>;
  readonly sounds = new AudioCache();
  readonly refusals = new RejectedAnswers(() => this.notify());
  private readonly transport: PageTransport;
  private link: ConnectionState = CONNECTED;
  private live: LiveLine | null = null;
  private closed = false;
  private recovering = false;
  private hasNewAnswers = false;
  private answering: Answering = NOTHING;
  /** The earlier message that is being continued; empty while there is none. */
  private continued = '';
  private readonly watchers = new Set<() => void>();

  constructor(
    readonly where: Where,
    messages: Message[],
  ) {
    this.transport = new PageTransport(where, {
      onOpen: () => this.onOpen(),
      onLost: () => this.setLink({ kind: 'lost', attempt: 0 }),
    });
    this.transport.noteShown(where.session, messages.at(-1)?.id);
    this.chat = new Chat<Message>({
      id: where.session,
      messages,
      transport: this.transport,
      // Only once the person has answered everything: never again on its own.
      sendAutomaticallyWhen: ({ messages: now }) => {
        const last = now.at(-1);
        if (!this.hasNewAnswers || last?.role !== 'assistant' || isWaiting(last)) return false;
        this.hasNewAnswers = false;
        this.answering = { kind: 'calls' };
        return true;
      },
      onData: (part) => {
        if (part.type === 'data-pcm')
          this.sounds.add(this.chat.lastMessage?.id ?? '', part.data as PrismDataParts['pcm']);
      },
      onError: (error) => {
        if (isLost(error)) void this.recover();
        else if (isStale(error)) this.setLink({ kind: 'stale' });
        else if (this.answering.kind !== 'nothing') void this.takeBack(error);
      },
    });
  }

  private onOpen(): void {
    keepDraft(draftKey(this.where), '', 'unsent');
    this.answering = NOTHING;
    this.setLink(CONNECTED);
  }

  readonly watch = (notify: () => void): (() => void) => {
    this.watchers.add(notify);
    return () => this.watchers.delete(notify);
  };

  readonly getLink = (): ConnectionState => this.link;

  private setLink(link: ConnectionState): void {
    if (link.kind === this.link.kind && link.kind !== 'lost' && link.kind !== 'refused') return;
    this.link = link;
    this.notify();
  }

  notify(): void {
    for (const notify of this.watchers) notify();
  }

  /** Let go of the stream; the run goes on without us. */
  close(): void {
    this.closed = true;
    void this.chat.stop();
  }

  // --- by voice

  readonly getLive = (): LiveLine | null => this.live;

  /** The message that grows though it need not be the last one: by voice, or because an old call was answered. */
  readonly getSaying = (): string => this.live?.saying || this.continued;

  /** Go on by voice. */
  join(live: LiveLine): void {
    this.live = live;
    this.notify();
  }

  /** Go on in writing: what was said is what the server has kept. */
  async part(live: LiveLine): Promise<void> {
    if (this.live !== live) return;
    this.live = null;
    this.notify();
    if (!this.closed) await this.reload();
  }

  /** Take in what was said while nobody listened. */
  async catchUp(): Promise<void> {
    for (const message of (await this.history()) ?? []) this.show(message);
  }

  /** Show a message, in the place of an earlier state of it if there is one. */
  show(message: Message): void {
    const messages = this.chat.messages;
    const place = messages.findLastIndex((known) => known.id === message.id);
    this.chat.messages = place < 0 ? [...messages, message] : messages.with(place, message);
  }

  // --- what a person does

  /**
   * Say something, after a change of the state if one is given. Return whether it was sent: a session that is gone
   * takes nothing.
   */
  async say(text: string, files: FileUIPart[] = [], stateDelta?: Record<string, unknown>): Promise<boolean> {
    if (!(await this.isThere())) return false;
    if (this.live) return this.tell(this.live, text, files, stateDelta);
    this.refusals.forgetAll();
    const isLeft = isAsking(this.chat.lastMessage);
    const sent = this.chat.sendMessage({ text, files }, stateDelta && { body: { stateDelta } });
    if (isLeft) void sent.then(() => this.refresh());
    return true;
  }

  /** Say it over the line, which takes no change of the state. */
  private tell(live: LiveLine, text: string, files: FileUIPart[], stateDelta?: Record<string, unknown>): boolean {
    if (stateDelta) return false;
    const message: Message = { id: this.chat.generateId(), role: 'user', parts: [...files, { type: 'text', text }] };
    if (!live.send(message)) return false;
    this.show(message);
    return true;
  }

  async edit(message: Message, text: string): Promise<void> {
    if (this.live) return;
    const files = message.parts.filter((part) => part.type === 'file');
    await this.chat.sendMessage({ parts: [...files, { type: 'text', text }], messageId: message.id });
  }

  async regenerate(messageId?: string): Promise<void> {
    if (this.live) return;
    await this.chat.regenerate({ messageId });
  }

  /** Show the conversation that an answer is in, which may be an earlier version; without one, the chat as it is. */
  async lookAt(messageId: string): Promise<void> {
    const stored = await loadVersion<Message>(connectionOf(this.where), this.where.session, messageId);
    if (this.isBusy || this.live || this.closed) return;
    this.refusals.forgetAll();
    this.chat.messages = stored;
  }

  /** Try again what failed: send the message that did not arrive, or ask for the answer anew. */
  async retry(): Promise<void> {
    const last = this.chat.lastMessage;
    if (!last) return;
    if (last.role === 'user') await this.chat.sendMessage({ parts: last.parts, messageId: last.id });
    else await this.chat.regenerate();
  }

  /**
   * End the run, or cut off who speaks; nothing, if nobody does. The server says its last words; if it does not, we
   * stop listening. What goes on is asked of the chat itself: the page may not have drawn it yet.
   */
  async stop(): Promise<void> {
    if (this.live) {
      this.live.interrupt();
      return;
    }
    if (!this.isBusy) return;
    try {
      await this.transport.stop(this.where.session);
    } catch {
      await this.chat.stop();
      return;
    }
    await delay(LAST_WORDS);
    if (this.isBusy) await this.chat.stop();
  }

  private get isBusy(): boolean {
    return this.chat.status === 'streaming' || this.chat.status === 'submitted';
  }

  async decide(approval: string, approved: boolean, more: DecisionMore = {}): Promise<void> {
    this.refusals.forget(approval);
    if (this.live) return this.live.decide(approval, approved, more);
    if (more.payload !== undefined) {
      const { attachPayload } = await answers();
      this.chat.messages = this.chat.messages.map((message) => attachPayload(message, approval, more.payload));
    }
    this.hasNewAnswers = true;
    await this.chat.addToolApprovalResponse({ id: approval, approved, reason: more.reason || undefined });
  }

  async answerCall(tool: string, call: string, output: unknown): Promise<void> {
    if (this.live) return this.live.answer(call, output);
    await this.giveResult(tool, call, { state: 'output-available', output });
  }

  async failCall(tool: string, call: string, errorText: string): Promise<void> {
    if (this.live) return this.live.fail(call, errorText);
    await this.giveResult(tool, call, { state: 'output-error', errorText });
  }

  private async giveResult(tool: string, call: string, given: Given): Promise<void> {
    const { answerCall } = await answers();
    const holder = this.chat.messages.findLast((message) =>
      message.parts.some((part) => isTool(part) && part.toolCallId === call),
    );
    if (!holder) return;
    const answered = answerCall(holder, call, given);
    this.refusals.forget(call);
    if (holder.id !== this.chat.lastMessage?.id) return this.goOnWith(answered, call);
    this.show(answered);
    this.hasNewAnswers = true;
    await this.chat.addToolOutput({ tool: tool as never, toolCallId: call, ...given } as never);
  }

  /**
   * Post an earlier message whose call was answered. What the agent says to it belongs there, not at the chat's end.
   */
  private async goOnWith(message: Message, call: string): Promise<void> {
    this.show(message);
    this.setContinued(message.id);
    try {
      const { chat, where } = this;
      const stream = await this.transport.sendMessages({
        trigger: 'submit-message',
        chatId: where.session,
        messageId: message.id,
        messages: chat.messages,
        abortSignal: undefined,
      });
      const { grow } = await answers();
      for await (const grown of grow(message, stream)) this.show(grown);
    } catch (error) {
      await this.showServers(explain(error), [call]);
    } finally {
      this.setContinued('');
    }
  }

  private setContinued(id: string): void {
    this.continued = id;
    this.notify();
  }

  async answerRequest(kind: 'input' | 'credential', id: string, response: unknown): Promise<void> {
    this.refusals.forget(id);
    const part = { type: `data-${kind}-response` as const, data: { id, response: response as never } };
    if (this.live) return void this.live.send({ id: this.chat.generateId(), role: 'user', parts: [part] });
    this.answering = { kind: 'request', id, given: response };
    await this.chat.sendMessage({ parts: [part] });
    await this.refresh();
  }

  // --- answers that the server does not take

  /** Undo an answer that was refused: ask again where another one may fit, else show what the server has. */
  private async takeBack(error: Error): Promise<void> {
    const { answering } = this;
    this.answering = NOTHING;
    const { askAgain, answeredIds, payloadsOf } = await answers(); // By then the SDK has noted the error, too.
    const reason = explain(error);
    const mayFit = (error as { status?: number }).status === UNFITTING;
    const last = this.chat.lastMessage;
    if (answering.kind === 'request') {
      this.chat.messages = this.chat.messages.slice(0, -1);
      if (mayFit) return this.askOver(new Map([[answering.id, answering.given]]), reason);
    } else if (mayFit && last && payloadsOf(last).size > 0) {
      this.show(askAgain(last));
      return this.askOver(payloadsOf(last), reason);
    }
    const given = answering.kind === 'request' ? [answering.id] : last ? answeredIds(last) : [];
    await this.showServers(reason, given);
  }

  private askOver(given: ReadonlyMap<string, unknown>, reason: string): void {
    this.chat.clearError();
    for (const [id, answer] of given) this.refusals.add(id, { reason, given: answer });
  }

  /** Show what the server has, and say why: beside what was answered, if that is still there. */
  private async showServers(reason: string, ids: readonly string[] = []): Promise<void> {
    const isShown = await this.reload();
    if (!isShown) return;
    this.chat.clearError();
    const asked = new Set(this.chat.messages.flatMap(({ parts }) => parts.flatMap(askedIds)));
    const there = ids.filter((id) => asked.has(id));
    for (const id of there) this.refusals.add(id, { reason, given: undefined });
    if (there.length === 0) this.setLink({ kind: 'refused', reason });
  }

  /** Show what became of what an earlier message asked. */
  private async refresh(): Promise<void> {
    if (this.chat.status === 'ready' && !this.live && !this.closed) await this.reload();
  }

  // --- the connection

  /** Go on with what runs; if nothing does, show what was said meanwhile. */
  async resume(): Promise<void> {
    await this.chat.resumeStream();
    if (this.transport.idle && this.chat.status !== 'error') await this.reload();
  }

  private async recover(): Promise<void> {
    if (this.recovering) return;
    this.recovering = true;
    for (let attempt = 0; !this.closed; attempt++) {
      this.setLink({ kind: 'lost', attempt });
      await delay(BACKOFF[Math.min(attempt, BACKOFF.length - 1)] ?? 1);
      await this.resume();
      if (!isLost(this.chat.error)) break;
    }
    this.recovering = false;
  }

  /** Show what the server has; a message that it lacks stays at the end. Return whether that was possible. */
  async reload(): Promise<boolean> {
    const stored = await this.history();
    // Somebody may have spoken meanwhile: what is on its way is newer.
    if (!stored || this.chat.status === 'submitted' || this.chat.status === 'streaming') return false;
    const last = this.chat.lastMessage;
    const isUnsent = last?.role === 'user' && !stored.some((message) => message.id === last.id);
    this.chat.messages = isUnsent ? [...stored, last] : stored;
    this.transport.noteShown(this.where.session, stored.at(-1)?.id);
    if (isUnsent) this.setLink({ kind: 'unsent', isStale: this.link.kind === 'stale' });
    return true;
  }

  /** Return what the server knows of this chat; null where it cannot be asked, or the chat is gone. */
  private async history(): Promise<Message[] | null> {
    try {
      const stored = await loadMessages<Message>(connectionOf(this.where), this.where.session);
      return stored.length > 0 || (await this.isThere()) ? stored : null;
    } catch {
      return null;
    }
  }

  /** Tell whether the session still is: with it, all of its runs are deleted. */
  private async isThere(): Promise<boolean> {
    if (!this.chat.messages.some((message) => message.role === 'assistant')) return true;
    try {
      const { app, user, session } = this.where;
      const runs = await getJson<unknown[]>(`api/runs?${new URLSearchParams({ app, user, session })}`);
      if (runs.length > 0) return true;
    } catch {
      return true; // Sending will tell.
    }
    this.setLink({ kind: 'gone' });
    return false;
  }
}

function delay(seconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, seconds * 1000));
}

/** How a chat is connected: in writing, and by voice. */
export type ConnectionState =
  | { kind: 'connected' }
  | { kind: 'lost'; attempt: number }
  /** The last message did not reach the server, or was refused because the page was stale. */
  | { kind: 'unsent'; isStale?: boolean }
  /** The conversation has continued elsewhere: what is shown is not the latest, and the last message was refused. */
  | { kind: 'stale' }
  /** The server did not take an answer; what is shown is what the server has. */
  | { kind: 'refused'; reason: string }
  /** Somebody deleted the session: what is on the screen is all there is. */
  | { kind: 'gone' };

/** A conversation by voice, while there is one: what the person does then goes over its line. */
export type LiveLine = {
  /** The message that the agent is saying; empty while it says none. */
  readonly saying: string;
  /** Return whether it was taken. */
  send(message: Message): boolean;
  interrupt(): void;
  decide(approval: string, approved: boolean, more?: DecisionMore): void;
  answer(call: string, output: unknown): void;
  fail(call: string, errorText: string): void;
};

type DecisionMore = { reason?: string; payload?: unknown };
