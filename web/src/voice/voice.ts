/**
 * One conversation by voice: the package's, with the messages in the chat that it is part of. Ended, the chat goes on in
 * writing.
 */
import { Live, type Mode } from '@adk-prism/client/live';
import { hasToken } from '../app/identity';
import type { LiveLine } from '../chat/connectionState';
import type { Conversation } from '../chat/conversation';
import { connectionOf } from '../chat/requests';
import { keepMode, readMode } from './mode';

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
