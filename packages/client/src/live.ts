/** Voice: `Live`, and `useLive` for React. Needs the AI SDK (`ai`), whose messages it shows. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import { Live, type LiveOptions, type LiveState } from './live/live.ts';

export { begun, Live, type LiveChat, type LiveOptions, type LiveState, type Mic, type Mode } from './live/live.ts';

export type UseLive = LiveState &
  Pick<
    Live,
    | 'start'
    | 'end'
    | 'listen'
    | 'press'
    | 'release'
    | 'mute'
    | 'meter'
    | 'setMode'
    | 'say'
    | 'interrupt'
    | 'decide'
    | 'answer'
    | 'fail'
  >;

/**
 * A conversation by voice, which `start()` begins, also after it has ended, and which ends with the component. Give the
 * component another `key` for another chat.
 */
export function useLive(options: LiveOptions): UseLive {
  const [live, setLive] = useState(() => new Live(options));
  const state = useSyncExternalStore(live.subscribe, live.getState, live.getState);
  useEffect(() => () => void live.end(), [live]);
  const { press, release, mute, meter, say, interrupt, decide, answer, fail } = live;
  const start = () => {
    const next = live.isOver ? new Live({ ...options, mode: state.mode, messages: state.messages }) : live;
    setLive(next);
    next.start();
  };
  return {
    ...state,
    start,
    end: () => live.end(),
    listen: () => live.listen(),
    setMode: (mode) => live.setMode(mode),
    press,
    release,
    mute,
    meter,
    say,
    interrupt,
    decide,
    answer,
    fail,
  };
}
