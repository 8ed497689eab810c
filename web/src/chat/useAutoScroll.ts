/**
 * Keeps a growing list at its end, until the reader scrolls up; then counts what they have not seen. An answer that is
 * complete, and longer than the screen, is shown from its beginning.
 */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** Pixels from the end that still count as the end. */
const NEAR = 48;

export type Follow = {
  list: RefObject<HTMLDivElement | null>;
  isFollowing: boolean;
  /** Things that came since the reader left the end. */
  news: number;
  toEnd(): void;
};

/** What stays in sight while the list grows: its end, the beginning of the answer, or what the reader went to. */
type Pin = 'end' | 'answer' | 'reader';

/** `isGrowing` says that the last message is not complete. */
export function useAutoScroll(count: number, isGrowing: boolean): Follow {
  const list = useRef<HTMLDivElement>(null);
  const pin = useRef<Pin>('end');
  /** Where this scrolled to by itself. */
  const put = useRef(-1);
  const [isFollowing, setFollowing] = useState(true);
  const [seen, setSeen] = useState(count);

  const hold = useCallback(() => {
    const element = list.current;
    if (!element || pin.current === 'reader') return;
    const answer = pin.current === 'answer' ? answerTop(element) : null;
    element.scrollTop = answer ?? element.scrollHeight;
    put.current = element.scrollTop;
    setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR);
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
    let height = element.scrollHeight;
    const onScroll = () => {
      // Growth moves the end away from a reader who did not move: only a scroll of their own unpins.
      const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (Math.abs(element.scrollTop - put.current) <= 1 || (!atEnd && element.scrollHeight !== height)) return;
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
      hold();
      height = element.scrollHeight;
    });
    if (element.firstElementChild) grown.observe(element.firstElementChild);
    grown.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    element.addEventListener('wheel', onUnpin, { passive: true });
    return () => {
      grown.disconnect();
      element.removeEventListener('scroll', onScroll);
      element.removeEventListener('wheel', onUnpin);
    };
  }, [hold]);

  return { list, isFollowing, news: isFollowing ? 0 : Math.max(0, count - seen), toEnd };
}

const ABOVE = 12; // Pixels above an answer.
const ASKS = '.ask, .request-form'; // What waits for the reader stands at the end.

/** Return where the last answer begins, if it is longer than what can be seen of the list; null where the end is better. */
function answerTop(list: HTMLElement): number | null {
  const message = [...list.querySelectorAll<HTMLElement>('.message')].at(-1);
  const answer = message?.querySelector<HTMLElement>('[data-answer]');
  if (!message || !answer || message.querySelector(ASKS)) return null;
  const top = answer.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop - ABOVE;
  return list.scrollHeight - top > list.clientHeight ? Math.max(0, top) : null;
}
