/** The voice, above the composer: how it stands, how loud it is, and what can be done. */
import type { LiveState, Mode } from '@adk-prism/client/live';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Conversation } from '../chat/conversation';
import { Icon } from '../ui/Icon';
import { HoldButton } from './HoldButton';
import { Meter } from './Meter';
import { Voice } from './voice';
import { statusText } from './statusText';
import * as wording from '../words/voice';
import './voice.css';

type Props = { conversation: Conversation; isOffline: boolean; onBegin(): void; onClose(): void };

export default function VoiceBar({ conversation, isOffline, onBegin, onClose }: Props) {
  const [voice, setVoice] = useState<Voice | null>(null);
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
    <section ref={bar} className="voice" aria-label={wording.voice} tabIndex={-1} data-kind={words.kind}>
      <div className="voice-row">
        <Icon name={words.icon} />
        <strong>{words.text}</strong>
        {!isOver && <Meter voice={voice} />}
        <span className="voice-side">
          {status.connection.kind === 'open' && (
            <select className="field" aria-label={wording.microphoneMode} value={status.mode} onChange={(event) => void voice.setMode(event.target.value as Mode)}>
              <option value="hold">{wording.pushToTalk}</option>
              <option value="open">{wording.openMicrophone}</option>
            </select>
          )}
          <button type="button" className="button" data-look="quiet" onClick={() => void end()}>
            <Icon name="cross" /> {isOver ? wording.close : wording.end}
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
        <button type="button" className="button talk" data-look="primary" disabled={!isReady} onClick={mic.kind === 'on' ? voice.mute : voice.press}>
          <Icon name={mic.kind === 'off' ? 'mic' : 'pause'} /> {mic.kind === 'off' ? wording.unmute : wording.mute}
        </button>
      )}
      {/* Never disabled: the focus would be lost with the press, and Firefox gives a disabled button no keys. */}
      <button type="button" className="button" aria-disabled={!(isSpeaking || isBusy)} title={wording.interruptEsc} onClick={voice.interrupt}>
        <Icon name="stop" /> {wording.interrupt}
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
          <span>{wording.canTypeInstead(mic.reason)}</span>
          <button type="button" className="button" onClick={() => void voice.listen()}>
            <Icon name="retry" /> {wording.tryAgain}
          </button>
        </p>
      )}
      {!Voice.isAudible && <p>{wording.canReadTheAgentsAnswers}</p>}
      {problem && (
        <p className="failure" role="alert">
          {problem}
        </p>
      )}
      {isNew && mode === 'hold' && mic.kind === 'off' && (
        <p className="quiet">
          {wording.hold} <kbd>Space</kbd> {wording.buttonWhileYouSpeak} <kbd>Esc</kbd> {wording.interruptsTheAgent}
        </p>
      )}
      {isNew && isOffline && <p className="quiet">{wording.demoModelDoesNotUnderstand}</p>}
    </>
  );
}
