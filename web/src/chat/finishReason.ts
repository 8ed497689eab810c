/** Why a model stopped, in words; nothing where it simply was done. */
import type { Kind } from '../ui/Kind';

const WORDS: Readonly<Record<string, string>> = {
  MAX_TOKENS: 'cut off at the token limit',
  CONTINUATION: 'to be continued',
  SAFETY: 'stopped by a safety filter',
  RECITATION: 'stopped: recitation',
  LANGUAGE: 'stopped: language',
  BLOCKLIST: 'stopped by a blocklist',
  PROHIBITED_CONTENT: 'stopped: prohibited content',
  SPII: 'stopped: personal data',
  MALFORMED_FUNCTION_CALL: 'malformed tool call',
  UNEXPECTED_TOOL_CALL: 'unexpected tool call',
  TOO_MANY_TOOL_CALLS: 'too many tool calls',
};

const FINE: ReadonlySet<string> = new Set(['STOP', 'FINISH_REASON_UNSPECIFIED']);

export function finishWords(reason: string | undefined): { word: string; kind: Kind } | null {
  if (!reason || FINE.has(reason)) return null;
  return { word: WORDS[reason] ?? reason.toLowerCase().replaceAll('_', ' '), kind: 'error' };
}
