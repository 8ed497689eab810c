/** How a conversation by voice stands, in words: never by a colour alone. */
import type { LiveState } from '@adk-prism/client/live';
import type { IconName } from '../ui/Icon';
import type { Kind } from '../ui/Kind';
import * as words from '../words/voice';

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
      return { text: words.connecting, icon: 'clock', kind: 'neutral', isNews: true };
    case 'lost':
      return { text: words.connectionLostReconnecting, icon: 'retry', kind: 'approval', isNews: true };
    case 'over':
      return { text: connection.reason || words.voiceChatHasEnded, icon: connection.reason ? 'error' : 'check', kind: connection.reason ? 'error' : 'neutral', isNews: true };
    case 'open':
      break;
  }
  if (waits > 0) return { text: isSpeaking ? words.speakingAndWaitingForYou : words.waitingForYou, icon: 'approval', kind: 'approval', isNews: true };
  if (isSpeaking) return { text: words.speaking, icon: 'play', kind: 'media', isNews: false };
  if (mic.kind === 'on') return { text: words.listening, icon: 'mic', kind: 'text', isNews: false };
  if (isBusy) return { text: words.working, icon: 'clock', kind: 'neutral', isNews: false };
  switch (mic.kind) {
    case 'asking':
      return { text: words.waitingForTheMicrophone, icon: 'mic', kind: 'approval', isNews: true };
    case 'none':
      return { text: words.noMicrophone, icon: 'error', kind: 'error', isNews: true };
    case 'off':
      return { text: mode === 'hold' ? words.ready : words.muted, icon: mode === 'hold' ? 'check' : 'pause', kind: 'neutral', isNews: true };
  }
}
