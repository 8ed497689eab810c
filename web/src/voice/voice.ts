/**
 * One conversation by voice: the package's, with the messages in the chat that it is part of. Ended, the chat goes on
 * in writing.
 */
import { Live, type Mode } from '@adk-prism/client/live';
import { hasToken } from '../app/server';
import type { LiveLine, Conversation } from '../chat/conversation';
import { connectionOf } from '../chat/transport';

/** How a person says when they speak: by holding a key, or by speaking. Kept from one conversation to the next. */
const KEY = 'prism:voice';

function readMode(): Mode {
  try {
    return localStorage.getItem(KEY) === 'open' ? 'open' : 'hold';
  } catch {
    return 'hold'; // Storage is switched off.
  }
}

function keepMode(mode: Mode): void {
  try {
    localStorage.setItem(KEY, mode);
  } catch {
    // As above: it lasts as long as the page.
  }
}

export class Voice extends Live implements LiveLine {
  private isEnding = false;

  constructor(private readonly conversation: Conversation) {
    super({
      ...connectionOf(conversation.where),
      chatId: conversation.where.session,
      mode: readMode(),
      ticket: hasToken(),
      chat: {
        show: (message) => conversation.show(message),
        find: (id) => conversation.chat.messages.find((message) => message.id === id),
        catchUp: () => void conversation.catchUp(),
      },
      onRefused: (approval, reason, given) => conversation.refusals.add(approval, { reason, given }),
    });
  }

  get saying(): string {
    return this.getState().saying;
  }

  override start(): void {
    this.conversation.join(this);
    let said = '';
    this.subscribe(() => {
      if (this.saying !== said) this.conversation.notify();
      said = this.saying;
      // The server has ended it. Why is shown until the person closes it.
      if (this.isOver && !this.isEnding) void this.conversation.part(this);
    });
    addEventListener('pagehide', this.onHide);
    super.start();
  }

  /** End it; the chat then shows what the server has kept. */
  override async end(): Promise<void> {
    this.isEnding = true;
    removeEventListener('pagehide', this.onHide);
    await super.end();
    await this.conversation.part(this);
  }

  private readonly onHide = (): void => void this.end();

  override async setMode(mode: Mode): Promise<void> {
    keepMode(mode);
    await super.setMode(mode);
  }
}
