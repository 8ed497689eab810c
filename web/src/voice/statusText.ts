/** How a conversation by voice stands, in words: never by a colour alone. */
import type { LiveState } from '@adk-prism/client/live';
import type { IconName } from '../ui/Icon';
import type { Kind } from '../ui/Kind';

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
      return { text: connection.reason || 'The voice chat has ended.', icon: connection.reason ? 'error' : 'check', kind: connection.reason ? 'error' : 'neutral', isNews: true };
    case 'open':
      break;
  }
  if (waits > 0) return { text: isSpeaking ? 'Speaking, and waiting for you' : 'Waiting for you', icon: 'approval', kind: 'approval', isNews: true };
  if (isSpeaking) return { text: 'Speaking', icon: 'play', kind: 'media', isNews: false };
  if (mic.kind === 'on') return { text: 'Listening', icon: 'mic', kind: 'text', isNews: false };
  if (isBusy) return { text: 'Working…', icon: 'clock', kind: 'neutral', isNews: false };
  switch (mic.kind) {
    case 'asking':
      return { text: 'Waiting for the microphone…', icon: 'mic', kind: 'approval', isNews: true };
    case 'none':
      return { text: 'No microphone', icon: 'error', kind: 'error', isNews: true };
    case 'off':
      return { text: mode === 'hold' ? 'Ready' : 'Muted', icon: mode === 'hold' ? 'check' : 'pause', kind: 'neutral', isNews: true };
  }
}
