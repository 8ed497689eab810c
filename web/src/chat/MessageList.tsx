/** The messages, following their end; a reader who scrolls up is left alone and told what is new. */
import {
  useMemo,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type RefObject,
} from 'react';
import { useTail } from '../ui/hooks';
import { Icon } from '../ui/Icon';
import { answeredRequests, textOf, type Message } from './message';
import { MessageView } from './MessageView';
import { number } from '../ui/format';

// Keeps a growing list at its end, until the reader scrolls up; then counts what they have not seen. An answer that is
// complete, and longer than the screen, is shown from its beginning.

/** How a reader scrolls. */
const HANDS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;
/** Milliseconds after which a scroll is no longer the hand's. A wheel that is let go rolls on for a while. */
const HAND_MS = 600;
/** Milliseconds without a change after which the list rests. */
const RESTS_MS = 300;
/** Pixels from the end that still count as the end. */
const NEAR = 48;

type Follow = {
  list: RefObject<HTMLDivElement | null>;
  isFollowing: boolean;
  /** Things that came since the reader left the end. */
  news: number;
  toEnd(): void;
};

/** What stays in sight while the list grows: its end, the beginning of the answer, or what the reader went to. */
type Pin = 'end' | 'answer' | 'reader';

/** `isGrowing` says that the last message is not complete. */
function useAutoScroll(count: number, isGrowing: boolean): Follow {
  const list = useRef<HTMLDivElement>(null);
  const pin = useRef<Pin>('end');
  /** Where this scrolled to by itself. */
  const put = useRef(-1);
  /** There was an end to follow, and it was in sight. */
  const wasAtEnd = useRef(false);
  const growing = useRef(isGrowing);
  useLayoutEffect(() => void (growing.current = isGrowing), [isGrowing]);
  const [isFollowing, setFollowing] = useState(true);
  const [seen, setSeen] = useState(count);

  const hold = useCallback(() => {
    const element = list.current;
    if (!element || pin.current === 'reader') return;
    const answer = pin.current === 'answer' ? answerTop(element) : null;
    element.scrollTop = answer ?? element.scrollHeight;
    put.current = element.scrollTop;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    wasAtEnd.current = isAtEnd && element.scrollHeight > element.clientHeight;
    setFollowing(isAtEnd);
  }, []);
  const toEnd = useCallback(() => {
    pin.current = 'end';
    hold();
  }, [hold]);

  useLayoutEffect(() => {
    if (pin.current !== 'reader') setSeen(count);
  }, [count]);
  useLayoutEffect(() => {
    if (pin.current === 'reader') return;
    pin.current = isGrowing ? 'end' : 'answer';
    hold();
  }, [isGrowing, hold]);

  useEffect(() => {
    const element = list.current;
    if (!element) return;
    // The browser scrolls by itself, too, when the list grows or folds. Only a scroll of the reader's own unpins: one that
    // follows a hand's move, or comes while the list rests or is complete.
    let changed = performance.now();
    let moved = -Infinity;
    let width = element.clientWidth;
    const onHand = () => void (moved = performance.now());
    const onScroll = () => {
      const now = performance.now();
      const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (Math.abs(element.scrollTop - put.current) <= 1) return;
      if (!atEnd && growing.current && now - changed < RESTS_MS && now - moved > HAND_MS) return;
      pin.current = atEnd ? 'end' : 'reader';
      setFollowing(atEnd);
    };
    const onUnpin = (event: WheelEvent) => {
      if (event.deltaY < 0 && element.scrollTop > 0) {
        pin.current = 'reader';
        setFollowing(false);
      }
    };
    const grown = new ResizeObserver(() => {
      changed = performance.now();
      // A panel that opens makes the chat narrow, and an answer that fitted too long: whoever saw its end still does.
      if (element.clientWidth !== width && wasAtEnd.current && pin.current === 'answer') pin.current = 'end';
      width = element.clientWidth;
      hold();
    });
    if (element.firstElementChild) grown.observe(element.firstElementChild);
    grown.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('wheel', onUnpin, { passive: true });
    for (const name of HANDS) element.addEventListener(name, onHand, { passive: true });
    return () => {
      grown.disconnect();
      for (const name of HANDS) element.removeEventListener(name, onHand);
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('wheel', onUnpin);
    };
  }, [hold]);

  return { list, isFollowing, news: isFollowing ? 0 : Math.max(0, count - seen), toEnd };
}

const ABOVE = 12; // Pixels above an answer.
const ASKS = '.ask, .request-form'; // What waits for the reader stands at the end.

/**
 * Return where the last answer begins, if it is longer than what can be seen of the list; null where the end is
 * better.
 */
function answerTop(list: HTMLElement): number | null {
  const message = [...list.querySelectorAll<HTMLElement>('.message')].at(-1);
  const answer = message?.querySelector<HTMLElement>('[data-answer]');
  if (!message || !answer || message.querySelector(ASKS)) return null;
  const top = answer.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop - ABOVE;
  return list.scrollHeight - top > list.clientHeight ? Math.max(0, top) : null;
}

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

function replyTo(next: Message | undefined): string {
  return next?.role === 'user' ? textOf(next) : '';
}

const AT_ONCE = 8; // Messages of a long chat that are drawn in one go.

export function MessageList({ messages, live, saying = '', stopped, empty, children }: Props) {
  const count = useMemo(() => messages.reduce((sum, message) => sum + message.parts.length, 0), [messages]);
  const { list, isFollowing, news, toEnd } = useAutoScroll(count, live || saying !== '');
  const answers = messages.filter((message) => message.role === 'user').length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: answers come in messages of the user, which do not change
  const isAnswered = useMemo(() => {
    const ids = answeredRequests(messages);
    return (request: string) => ids.has(request);
  }, [answers]);
  const last = messages.length - 1;
  const first = useTail(messages.length, AT_ONCE);
  return (
    <div className="log-frame">
      <div
        className="log"
        role="log"
        aria-label="Conversation"
        aria-busy={live || saying !== ''}
        tabIndex={0}
        ref={list}
      >
        <div className="log-inner">
          {messages.length === 0 && empty}
          {messages.map(
            (message, index) =>
              index >= first && (
                <MessageView
                  key={message.id}
                  message={message}
                  live={message.id === saying || (live && index === last && message.role === 'assistant')}
                  last={index === last || message.id === saying}
                  stopped={stopped?.has(message.id)}
                  isAnswered={isAnswered}
                  reply={message.role === 'assistant' ? replyTo(messages[index + 1]) : undefined}
                />
              ),
          )}
          {children}
        </div>
      </div>
      {!isFollowing && (
        <button type="button" className="button to-end" onClick={toEnd}>
          <Icon name="down" /> {news > 0 ? `${number(news)} new` : 'Jump to latest'}
        </button>
      )}
    </div>
  );
}
