/** Why a model stopped, in words; nothing where it simply was done. */
import type { Kind } from '../ui/Kind';
import * as words from '../words/chat';

const WORDS: Readonly<Record<string, string>> = {
  MAX_TOKENS: words.cutOffAtTheToken,
  CONTINUATION: words.beContinued,
  SAFETY: words.stoppedByASafetyFilter,
  RECITATION: words.stoppedRecitation,
  LANGUAGE: words.stoppedLanguage,
  BLOCKLIST: words.stoppedByABlocklist,
  PROHIBITED_CONTENT: words.stoppedProhibitedContent,
  SPII: words.stoppedPersonalData,
  MALFORMED_FUNCTION_CALL: words.malformedToolCall,
  UNEXPECTED_TOOL_CALL: words.unexpectedToolCall,
  TOO_MANY_TOOL_CALLS: words.tooManyToolCalls,
};

const FINE: ReadonlySet<string> = new Set(['STOP', 'FINISH_REASON_UNSPECIFIED']);

export function finishWords(reason: string | undefined): { word: string; kind: Kind } | null {
  if (!reason || FINE.has(reason)) return null;
  return { word: WORDS[reason] ?? reason.toLowerCase().replaceAll('_', ' '), kind: 'error' };
}
