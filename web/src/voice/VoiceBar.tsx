/** The voice, above the composer: how it stands, how loud it is, and what can be done. */
import type { LiveState, Mode } from '@adk-prism/client/live';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Conversation } from '../chat/conversation';
import { Icon, type IconName } from '../ui/Icon';
import { Voice } from './voice';
import type { Kind } from '../ui/Kind';
import './voice.css';

// How loud it is: the agent while it speaks, else the person. For the eye alone; what it means is said in words.

/** Steps that can be told apart; the picture changes only with them, and without any motion of its own. */
const STEPS = 12;

/** The quietest that is shown, in decibels below full. */
const FLOOR = 48;

export function Meter({ voice }: { voice: Voice }) {
  const bar = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let shown = -1;
    return voice.meter((level) => {
      const next = stepOf(level);
      if (next !== shown) bar.current?.style.setProperty('--level', String((shown = next) / STEPS));
    });
  }, [voice]);
  return <span className="meter" ref={bar} aria-hidden="true" />;
}

/** Loudness is heard in proportions, so it is shown in decibels. */
export function stepOf(level: number): number {
  if (level <= 0) return 0;
  return Math.max(0, Math.min(STEPS, Math.round((1 + (20 * Math.log10(level)) / FLOOR) * STEPS)));
}

// Push-to-talk: the microphone is on while the button, or Space wherever nothing is typed, is held. Who cannot hold
// (Enter on the button, a screen reader's click) presses once to begin and once to end.

/** Where Space means something already. */
const TAKEN = 'input, textarea, select, button, a, summary, audio, video, [contenteditable], dialog';

export function HoldButton({ voice, isOn, isReady }: { voice: Voice; isOn: boolean; isReady: boolean }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    let isHeld = false;
    const isOurs = ({ code, target, ctrlKey, metaKey, altKey }: KeyboardEvent) =>
      code === 'Space' &&
      !ctrlKey &&
      !metaKey &&
      !altKey &&
      target instanceof Element &&
      (button.current?.contains(target) || !target.closest(TAKEN));
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
      title="Hold to talk (Space)"
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
      <Icon name="mic" /> {isOn ? 'Release to send' : 'Hold to talk'}
    </button>
  );
}

type Props = { conversation: Conversation; isOffline: boolean; onBegin(): void; onClose(): void };

export default function VoiceBar({ conversation, isOffline, onBegin, onClose }: Props) {
  const [voice, setVoice] = useState<Voice | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new handler does not begin another voice chat
  useEffect(() => {
    const begun = new Voice(conversation);
    begun.start();
    setVoice(begun);
    onBegin();
    return () => void begun.end();
  }, [conversation]);
  return voice && <Bar voice={voice} isOffline={isOffline} onClose={onClose} />;
}

type BarProps = { voice: Voice; isOffline: boolean; onClose(): void };

function Bar({ voice, isOffline, onClose }: BarProps) {
  const status = useSyncExternalStore(voice.subscribe, voice.getState);
  const words = statusText(status);
  const isOver = status.connection.kind === 'over';
  const bar = useRef<HTMLElement>(null);
  // The button that began it is gone: whoever goes by keys is here now, and Space is to be held.
  useEffect(() => bar.current?.focus(), []);
  const end = async () => {
    await voice.end();
    onClose();
    document.getElementById('composer')?.focus();
  };
  return (
    <section ref={bar} className="voice" aria-label="Voice" tabIndex={-1} data-kind={words.kind}>
      <div className="voice-row">
        <Icon name={words.icon} />
        <strong>{words.text}</strong>
        {!isOver && <Meter voice={voice} />}
        <span className="voice-side">
          {status.connection.kind === 'open' && (
            <select
              className="field"
              aria-label="Microphone mode"
              value={status.mode}
              onChange={(event) => void voice.setMode(event.target.value as Mode)}
            >
              <option value="hold">Push to talk</option>
              <option value="open">Open microphone</option>
            </select>
          )}
          <button type="button" className="button" data-look="quiet" onClick={() => void end()}>
            <Icon name="cross" /> {isOver ? 'Close' : 'End'}
          </button>
        </span>
      </div>
      <span className="visually-hidden" role="status">
        {words.isNews ? words.text : ''}
      </span>
      {!isOver && <Actions voice={voice} status={status} />}
      {!isOver && <Notes voice={voice} status={status} isOffline={isOffline} />}
    </section>
  );
}

function Actions({ voice, status }: { voice: Voice; status: LiveState }) {
  const { connection, mic, mode, isSpeaking, isBusy } = status;
  const isReady = connection.kind === 'open' && (mic.kind === 'on' || mic.kind === 'off');
  return (
    <div className="voice-row">
      {mode === 'hold' ? (
        <HoldButton voice={voice} isOn={mic.kind === 'on'} isReady={isReady} />
      ) : (
        <button
          type="button"
          className="button talk"
          data-look="primary"
          disabled={!isReady}
          onClick={mic.kind === 'on' ? voice.mute : voice.press}
        >
          <Icon name={mic.kind === 'off' ? 'mic' : 'pause'} /> {mic.kind === 'off' ? 'Unmute' : 'Mute'}
        </button>
      )}
      {/* Never disabled: the focus would be lost with the press, and Firefox gives a disabled button no keys. */}
      <button
        type="button"
        className="button"
        aria-disabled={!(isSpeaking || isBusy)}
        title="Interrupt (Esc)"
        onClick={voice.interrupt}
      >
        <Icon name="stop" /> Interrupt
      </button>
    </div>
  );
}

function Notes({ voice, status, isOffline }: { voice: Voice; status: LiveState; isOffline: boolean }) {
  const { mic, mode, isNew, problem } = status;
  return (
    <>
      {mic.kind === 'none' && (
        <p className="voice-row" role="alert">
          <span>{`${mic.reason} You can type instead.`}</span>
          <button type="button" className="button" onClick={() => void voice.listen()}>
            <Icon name="retry" /> Try again
          </button>
        </p>
      )}
      {!Voice.isAudible && (
        <p>
          You can read the agent’s answers but not hear them: browsers play streamed audio only on https pages and
          localhost.
        </p>
      )}
      {problem && (
        <p className="failure" role="alert">
          {problem}
        </p>
      )}
      {isNew && mode === 'hold' && mic.kind === 'off' && (
        <p className="quiet">
          Hold <kbd>Space</kbd> or the button while you speak; <kbd>Esc</kbd> interrupts the agent.
        </p>
      )}
      {isNew && isOffline && (
        <p className="quiet">
          The demo model does not understand speech: it reports how long and how high a sound was, and answers in tones.
        </p>
      )}
    </>
  );
}

/** How a conversation by voice stands, in words: never by a colour alone. */
export type StatusText = {
  text: string;
  icon: IconName;
  kind: Kind;
  /** Worth telling a person who does not look; the rest can be heard. */
  isNews: boolean;
};

export function statusText({ connection, mic, mode, isSpeaking, isBusy, waits }: LiveState): StatusText {
  switch (connection.kind) {
    case 'connecting':
      return { text: 'Connecting…', icon: 'clock', kind: 'neutral', isNews: true };
    case 'lost':
      return { text: 'Connection lost. Reconnecting…', icon: 'retry', kind: 'approval', isNews: true };
    case 'over':
      return {
        text: connection.reason || 'The voice chat has ended.',
        icon: connection.reason ? 'error' : 'check',
        kind: connection.reason ? 'error' : 'neutral',
        isNews: true,
      };
    case 'open':
      break;
  }
  if (waits > 0)
    return {
      text: isSpeaking ? 'Speaking, and waiting for you' : 'Waiting for you',
      icon: 'approval',
      kind: 'approval',
      isNews: true,
    };
  if (isSpeaking) return { text: 'Speaking', icon: 'play', kind: 'media', isNews: false };
  if (mic.kind === 'on') return { text: 'Listening', icon: 'mic', kind: 'text', isNews: false };
  if (isBusy) return { text: 'Working…', icon: 'clock', kind: 'neutral', isNews: false };
  switch (mic.kind) {
    case 'asking':
      return { text: 'Waiting for the microphone…', icon: 'mic', kind: 'approval', isNews: true };
    case 'none':
      return { text: 'No microphone', icon: 'error', kind: 'error', isNews: true };
    case 'off':
      return {
        text: mode === 'hold' ? 'Ready' : 'Muted',
        icon: mode === 'hold' ? 'check' : 'pause',
        kind: 'neutral',
        isNews: true,
      };
  }
}
