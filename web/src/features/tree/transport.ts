/** How one travels: the keys, the playback, what is looked for and the picked range. Works with the trace closed, too. */
import { useState } from 'react';
import { type PanelProps, keyOf } from '../feature';
import { useFind, useRange } from './FindBar';
import { useEscape, useKeys, type Action } from './keys';
import * as moves from './navigation';

export function useTransport({ film, at, selected, seek }: PanelProps) {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<moves.Speed>(1);
  const play = () => {
    if (!playing && at >= film.last) seek(1);
    setPlaying(!playing);
  };
  const go = (cursor: number | null) => {
    if (cursor === null) return;
    setPlaying(false);
    seek(cursor);
  };
  const peer = () => {
    const name = selected !== null && keyOf(selected) === null ? selected : moves.nodeNameAt(film, at);
    if (name !== null) go(moves.nextPeer(film, at, name));
  };
  const find = useFind(film, seek);
  const picked = useRange(at, film.last);
  useEscape(picked.range !== null, picked.clear);
  const actions: Record<Action, () => void> = {
    'previous step': () => go(moves.previousStep(film, at)),
    'next step': () => go(moves.nextStep(film, at)),
    'previous event': () => go(moves.previousEvent(film, at)),
    'next event': () => go(moves.nextEvent(film, at)),
    'previous node': () => go(moves.previousNode(film, at)),
    'next node': () => go(moves.nextNode(film, at)),
    'next failure': () => go(moves.nextFailure(film, at)),
    'next match': () => go(moves.nextOf(find.matches, at)),
    'previous match': () => go(moves.previousOf(find.matches, at)),
    'next peer': peer,
    'begin range': picked.begin,
    'end range': picked.end,
    play,
  };
  useKeys((action) => actions[action]());
  moves.usePlayback(film, at, playing, speed, seek, () => setPlaying(false));
  const nextSpeed = () => setSpeed(moves.SPEEDS[(moves.SPEEDS.indexOf(speed) + 1) % moves.SPEEDS.length]!);
  return { playing, speed, nextSpeed, go, find, picked, actions };
}

/** While the trace is closed, its keys work all the same. */
export default function TravelKeys(props: PanelProps) {
  useTransport(props);
  return null;
}
