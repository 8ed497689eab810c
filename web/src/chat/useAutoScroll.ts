/** Keeps a growing list at its end, until the reader scrolls up; then counts what they have not seen. */
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

export function useAutoScroll(count: number): Follow {
  const list = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const [isFollowing, setFollowing] = useState(true);
  const [seen, setSeen] = useState(count);

  const toEnd = useCallback(() => {
    const element = list.current;
    if (!element) return;
    pinned.current = true;
    setFollowing(true);
    element.scrollTop = element.scrollHeight;
  }, []);

  useLayoutEffect(() => {
    if (pinned.current) setSeen(count);
  }, [count]);

  useEffect(() => {
    const element = list.current;
    if (!element) return;
    let height = element.scrollHeight;
    const onScroll = () => {
      // Growth moves the end away from a reader who did not move: only a scroll of their own unpins.
      const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
      if (!atEnd && element.scrollHeight !== height) return;
      pinned.current = atEnd;
      setFollowing(atEnd);
    };
    const onUnpin = (event: WheelEvent) => {
      if (event.deltaY < 0 && element.scrollTop > 0) {
        pinned.current = false;
        setFollowing(false);
      }
    };
    const grown = new ResizeObserver(() => {
      if (pinned.current) element.scrollTop = element.scrollHeight;
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
  }, []);

  return { list, isFollowing, news: isFollowing ? 0 : Math.max(0, count - seen), toEnd };
}
