/** How a conversation by voice stands. */
import type { SocketState } from './voiceSocket';
import type { Mode } from './mode';

export type Mic =
  | { kind: 'asking' }
  /** Nothing that it hears is sent. */
  | { kind: 'off' }
  | { kind: 'on' }
  | { kind: 'none'; reason: string };

export type Status = {
  line: SocketState;
  mic: Mic;
  mode: Mode;
  /** The agent can be heard. */
  isSpeaking: boolean;
  /** It has been spoken to, or is at work. */
  isBusy: boolean;
  /** Calls that wait for the person. */
  waits: number;
  /** Nothing has been said yet. */
  isNew: boolean;
  /** What went wrong last, and ends nothing. */
  problem: string;
};

export function begun(mode: Mode): Status {
  return { line: { kind: 'connecting' }, mic: { kind: 'asking' }, mode, isSpeaking: false, isBusy: false, waits: 0, isNew: true, problem: '' };
}
