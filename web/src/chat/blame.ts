/** Which tool raised the exception that ended an answer: its card tells it, and nobody tells it again. */
import { endOf } from '../film/timeline';
import type { Film } from '../film/film';
import { callNode } from './ChatContext';
import { authorOf, isTool, toolName, type Part, type ToolPart } from './message';

/** What the server says of a call that was open when its run ended. */
const UNANSWERED = 'The run stopped before this tool returned.';

/** Return the parts of a message with each exception on the card of the tool that raised it, where that is known. */
export function withExceptions(parts: readonly Part[], film: Film | null): readonly Part[] {
  const open = parts.filter((part): part is ToolPart => isTool(part) && part.state === 'output-error').filter(isOpen);
  if (open.length === 0) return parts;
  const raised = new Map<ToolPart, string>();
  for (const part of parts) {
    if (part.type !== 'data-error' || !part.data.message) continue;
    const tool = raiser(open, part.data, film);
    if (tool) raised.set(tool, part.data.message);
  }
  if (raised.size === 0) return parts;
  return parts.map((part) =>
    isTool(part) && raised.has(part) ? ({ ...part, errorText: raised.get(part) } as Part) : part,
  );
}

function isOpen({ state, errorText }: ToolPart): boolean {
  return state === 'output-error' && errorText === UNANSWERED;
}

type Raised = { author: string; code: string };

/** The run knows which call failed; without it, the only call that its agent was waiting for. */
function raiser(open: readonly ToolPart[], { author, code }: Raised, film: Film | null): ToolPart | undefined {
  const ends = open.map(({ toolCallId }) => {
    const node = callNode(film, toolCallId);
    return node && endOf(node);
  });
  const failed = open.filter((_, index) => ends[index]?.status === 'failed' && ends[index]?.error === code);
  if (failed.length > 0 || ends.some(Boolean)) return failed[0];
  const own = open.filter((part) => authorOf(part as Part) === author);
  return own.length === 1 ? own[0] : undefined;
}

const REFERENCE = /Reference: ([0-9a-f]{12})\./;

/** Return the name of the tool whose card tells of a failure; null where none does. */
export function failingTool(parts: readonly Part[], failure: string): string | null {
  const reference = REFERENCE.exec(failure)?.[1];
  const told = parts.find(
    (part) =>
      isTool(part) &&
      part.state === 'output-error' &&
      part.errorText !== '' &&
      (part.errorText === failure || (reference !== undefined && part.errorText.includes(reference))),
  );
  return told && isTool(told) ? toolName(told) : null;
}
