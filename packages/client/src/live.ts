/** Voice: `Live`, and `useLive` for React. Needs the AI SDK (`ai`), whose messages it shows. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Live, type LiveOptions, type LiveState } from './live/live.ts';

export { Live, type LiveOptions, type LiveState, type Mic, type Mode } from './live/live.ts';

export type UseLive = LiveState & Pick<Live, 'start' | 'end' | 'listen' | 'press' | 'release' | 'mute' | 'say' | 'interrupt' | 'decide' | 'answer' | 'fail'>;

/**
 * A conversation by voice, which `start()` begins, also after it has ended, and which ends with the component. Give the
 * component another `key` for another chat or mode.
 */
export function useLive(options: LiveOptions): UseLive {
  const [live, setLive] = useState(() => new Live(options));
  const state = useSyncExternalStore(live.subscribe, live.getState, live.getState);
  useEffect(() => () => void live.end(), [live]);
  const { press, release, mute, say, interrupt, decide, answer, fail } = live;
  const start = () => {
    const next = live.isOver ? new Live({ ...options, messages: state.messages }) : live;
    setLive(next);
    next.start();
  };
  return { ...state, start, end: () => live.end(), listen: () => live.listen(), press, release, mute, say, interrupt, decide, answer, fail };
}
