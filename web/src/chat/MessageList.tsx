/** The messages, following their end; a reader who scrolls up is left alone and told what is new. */
import { useMemo, type ReactNode } from 'react';
import { useTail } from '../ui/progressiveRender';
import { Icon } from '../ui/Icon';
import { useAutoScroll } from './useAutoScroll';
import { answeredRequests, type Message } from './message';
import { MessageView } from './MessageView';
import * as words from '../words/chat';

type Props = {
  messages: readonly Message[];
  live: boolean;
  /** Ids of messages that were stopped. */
  stopped?: ReadonlySet<string>;
  /** The message that is being said aloud, which need not be the last. */
  saying?: string;
  empty: ReactNode;
  children?: ReactNode;
};

const AT_ONCE = 8; // Messages of a long chat that are drawn in one go.

export function MessageList({ messages, live, saying = '', stopped, empty, children }: Props) {
  const count = useMemo(() => messages.reduce((sum, message) => sum + message.parts.length, 0), [messages]);
  const { list, isFollowing, news, toEnd } = useAutoScroll(count, live || saying !== '');
  const answers = messages.filter((message) => message.role === 'user').length;
  const isAnswered = useMemo(() => {
    const ids = answeredRequests(messages);
    return (request: string) => ids.has(request);
    // Answers come in messages of the user, and these do not change.
  }, [answers]);
  const last = messages.length - 1;
  const first = useTail(messages.length, AT_ONCE);
  return (
    <div className="log-frame">
      <div className="log" role="log" aria-label={words.conversation} aria-busy={live || saying !== ''} tabIndex={0} ref={list}>
        <div className="log-inner">
          {messages.length === 0 && empty}
          {messages.map((message, index) => index >= first && (
            <MessageView key={message.id} message={message} live={message.id === saying || (live && index === last && message.role === 'assistant')} last={index === last || message.id === saying} stopped={stopped?.has(message.id)} isAnswered={isAnswered} />
          ))}
          {children}
        </div>
      </div>
      {!isFollowing && (
        <button type="button" className="button to-end" onClick={toEnd}>
          <Icon name="down" /> {news > 0 ? words.newMessages(news) : words.jumpToLatest}
        </button>
      )}
    </div>
  );
}
