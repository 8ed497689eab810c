/**
 * Push-to-talk: the microphone is on while the button, or Space wherever nothing is typed, is held. Who cannot hold
 * (Enter on the button, a screen reader's click) presses once to begin and once to end.
 */
import { useEffect, useRef } from 'react';
import { Icon } from '../ui/Icon';
import type { Voice } from './voice';
import * as words from '../words/voice';

/** Where Space means something already. */
const TAKEN = 'input, textarea, select, button, a, summary, audio, video, [contenteditable], dialog';

export function HoldButton({ voice, isOn, isReady }: { voice: Voice; isOn: boolean; isReady: boolean }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    let isHeld = false;
    const isOurs = ({ code, target, ctrlKey, metaKey, altKey }: KeyboardEvent) =>
      code === 'Space' && !ctrlKey && !metaKey && !altKey && target instanceof Element && (button.current?.contains(target) || !target.closest(TAKEN));
    const down = (event: KeyboardEvent) => {
      if (!isReady || !isOurs(event)) return;
      // The timeline plays by the same key.
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) voice.press();
      isHeld = true;
    };
    const up = (event: KeyboardEvent) => {
      if (event.code !== 'Space' || !isHeld) return;
      event.preventDefault();
      leave();
    };
    // A window that loses the focus is not told that the key is let go.
    const leave = () => {
      if (isHeld) voice.release();
      isHeld = false;
    };
    addEventListener('keydown', down, true);
    addEventListener('keyup', up, true);
    addEventListener('blur', leave);
    return () => {
      removeEventListener('keydown', down, true);
      removeEventListener('keyup', up, true);
      removeEventListener('blur', leave);
      leave();
    };
  }, [voice, isReady]);
  return (
    <button
      ref={button}
      type="button"
      className="button talk"
      data-look="primary"
      aria-pressed={isOn}
      disabled={!isReady}
      title={words.holdToTalkSpace}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        voice.press();
      }}
      onPointerUp={voice.release}
      onPointerCancel={voice.release}
      onContextMenu={(event) => event.preventDefault()}
      onClick={(event) => {
        if (event.detail === 0) (isOn ? voice.release : voice.press)();
      }}
    >
      <Icon name="mic" /> {isOn ? words.releaseToSend : words.holdToTalk}
    </button>
  );
}
