/** The messages of a chat, and small questions about their parts. */
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import type { PrismUIMessage } from './prism';

export type Message = PrismUIMessage;
export type Part = Message['parts'][number];
export type ToolPart = ToolUIPart | DynamicToolUIPart;

const TOOL = 'tool-';

export function isTool(part: Part): part is ToolPart {
  return part.type === 'dynamic-tool' || part.type.startsWith(TOOL);
}

export function toolName(part: ToolPart): string {
  return part.type === 'dynamic-tool' ? part.toolName : part.type.slice(TOOL.length);
}

/** What other parts of a message say about one call. */
export type CallNotes = { hint?: string; payload?: unknown; longRunning: boolean };

const NO_NOTES: CallNotes = { longRunning: false };

/** Collect what is said about calls, by call id; null where nothing is. */
export function notesOnCalls(message: Message): (call: string) => CallNotes {
  const found = new Map<string, CallNotes>();
  for (const part of message.parts) {
    if (part.type === 'data-approval') {
      const { toolCallId, hint, payload } = part.data;
      found.set(toolCallId, { ...(found.get(toolCallId) ?? NO_NOTES), hint, payload });
    } else if (part.type === 'data-long-running') {
      const { toolCallId } = part.data;
      found.set(toolCallId, { ...(found.get(toolCallId) ?? NO_NOTES), longRunning: true });
    }
  }
  return (call) => found.get(call) ?? NO_NOTES;
}

/** A call that the person, or this device, has to answer before the run can go on. */
export function isOpenCall(part: Part): part is ToolPart {
  if (!isTool(part) || part.providerExecuted) return false;
  return part.state === 'approval-requested' || part.state === 'input-available';
}

/** Tell whether nothing of a message's calls is left to answer. */
export function isAnswered(message: Message | undefined): boolean {
  return message?.role === 'assistant' && !message.parts.some(isOpenCall);
}

/** Requests of a chat that have been answered: by their ids, in `data-…-response` parts. */
export function answeredRequests(messages: readonly Message[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === 'data-input-response' || part.type === 'data-credential-response') ids.add(part.data.id);
    }
  }
  return ids;
}

/** Who speaks in a part, as ADK names them; empty where the part does not say. */
export function authorOf(part: Part): string {
  const metadata = (part as { providerMetadata?: Meta; callProviderMetadata?: Meta }) ?? {};
  const author = (metadata.providerMetadata ?? metadata.callProviderMetadata)?.adk?.author;
  if (typeof author === 'string') return author;
  const data = (part as { data?: { author?: unknown } }).data;
  return typeof data === 'object' && data !== null && typeof data.author === 'string' ? data.author : '';
}

type Meta = { adk?: { author?: unknown } };

type Marks = { replaced?: unknown; block?: unknown; trimmed?: unknown };

function marksOf(part: Part): Marks | undefined {
  const about = part as { providerMetadata?: { prism?: Marks }; callProviderMetadata?: { prism?: Marks } };
  return (about.providerMetadata ?? about.callProviderMetadata)?.prism;
}

/** The parts of a message that stand: what was streamed and is not what ADK stored is left out. The same array where all of them do. */
export function standing(message: Message): readonly Part[] {
  if (!message.parts.some((part) => part.type === 'data-prism-replaced' || marksOf(part)?.replaced === true)) return message.parts;
  const gone = new Set<unknown>(message.parts.flatMap((part) => (part.type === 'data-prism-replaced' ? part.data.blocks : [])));
  return message.parts.filter((part) => {
    const marks = marksOf(part);
    return part.type !== 'data-prism-replaced' && marks?.replaced !== true && !(marks?.block !== undefined && gone.has(marks.block));
  });
}

/** All of a message's own text. */
export function textOf(message: Message): string {
  return standing(message).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}
