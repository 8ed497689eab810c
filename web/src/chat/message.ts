/** The messages of a chat, and small questions about their parts. */
import { standing, type PrismUIMessage } from '@adk-prism/client/ai';
import type { DynamicToolUIPart, ToolUIPart } from 'ai';
import type { Schema } from './answerSchema';

export { standing };
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
/** How far a tool is, in its own words. */
export type Progress = { done?: number; total?: number; message?: string };

export type CallNotes = {
  hint?: string;
  /** A sample of what the tool wants with its approval, and the schema read from it. */
  payload?: unknown;
  schema?: Schema;
  /** The conversation went on before anybody decided. */
  expired?: boolean;
  /** A client may answer the call. A call without this is the server's. */
  longRunning: boolean;
  /** A client has answered it. */
  answered?: boolean;
  /** How far its tool is, where the call has no output that says it. */
  progress?: Progress;
  /** What has to happen before the server can go on with the call, in words. */
  awaits?: string;
};

const NO_NOTES: CallNotes = { longRunning: false };

/** Collect what a message says about its calls, by call id. */
export function notesOnCalls(message: Message): (call: string) => CallNotes {
  const found = new Map<string, CallNotes>();
  const note = (call: string, more: Partial<CallNotes>) =>
    found.set(call, { ...(found.get(call) ?? NO_NOTES), ...more });
  for (const part of message.parts) {
    if (part.type === 'data-approval') {
      const { toolCallId, hint, payload, schema, status } = part.data;
      note(toolCallId, { hint, payload, schema: schema as Schema | undefined, expired: status === 'expired' });
    } else if (part.type === 'data-long-running') {
      note(part.data.toolCallId, { longRunning: true, answered: part.data.status === 'answered' });
    } else if (part.type === 'data-progress') {
      note(part.data.toolCallId, { progress: part.data });
    }
  }
  const notes = (call: string) => found.get(call) ?? NO_NOTES;
  const open = message.parts.flatMap((part) => openThing(part, notes));
  if (open.length > 0) {
    for (const part of message.parts) {
      if (isTool(part) && part.state === 'input-available' && !notes(part.toolCallId).longRunning)
        note(part.toolCallId, { awaits: awaitedBy(part, open) });
    }
  }
  return notes;
}

/** What `notesOnCalls` depends on: while it is the same, so are the notes. */
export function notesKey(parts: readonly Part[]): string {
  const words = parts.flatMap((part) => {
    if (isTool(part)) return [part.state];
    if (part.type === 'data-progress') return [part.data.done, part.data.message];
    if (!('data' in part) || !NOTED.has(part.type)) return [];
    return [part.type, (part.data as { status?: string }).status ?? ''];
  });
  return words.join();
}

const NOTED: ReadonlySet<string> = new Set([
  'data-approval',
  'data-long-running',
  'data-input-request',
  'data-credential-request',
]);

/** Something that a person or this device has to do: in words, inside which calls, and for which. */
type Open = { words: string; branch: string; call: string };

function openThing(part: Part, notes: (call: string) => CallNotes): Open[] {
  if (isTool(part)) {
    if (!isOpenCall(part, notes)) return [];
    const what = part.state === 'approval-requested' ? 'approval' : 'the result';
    return [{ words: `${what} of ${toolName(part)}`, branch: branchOf(part), call: part.toolCallId }];
  }
  if (part.type === 'data-credential-request' && !part.data.status)
    return [{ words: 'your sign-in', branch: '', call: part.data.toolCallId ?? '' }];
  if (part.type === 'data-input-request' && !part.data.status) return [{ words: 'your answer', branch: '', call: '' }];
  return [];
}

/** Say what a call waits for: what is asked inside it, as the branch tells; else what is asked at no known place. */
function awaitedBy({ toolCallId }: ToolPart, open: readonly Open[]): string {
  const inside = open.filter(({ branch, call }) => call === toolCallId || branch.includes(toolCallId));
  const found = inside.length > 0 ? inside : open.filter(({ branch }) => branch === '');
  return [...new Set(found.map(({ words }) => words))].join(' and ');
}

function branchOf(part: ToolPart): string {
  const branch = (part as { callProviderMetadata?: { adk?: { branch?: unknown } } }).callProviderMetadata?.adk?.branch;
  return typeof branch === 'string' ? branch : '';
}

/**
 * A call that the person, or this device, has to answer before the run can go on; other open calls are the server's.
 */
export function isOpenCall(part: Part, notes: (call: string) => CallNotes): part is ToolPart {
  if (!isTool(part) || part.providerExecuted) return false;
  const { expired, longRunning } = notes(part.toolCallId);
  return (part.state === 'approval-requested' && !expired) || (part.state === 'input-available' && longRunning);
}

/** Return the ids that an answer to a part names: of its approval, its call, or its request. */
export function askedIds(part: Part): string[] {
  if (isTool(part)) return [part.toolCallId, ...(part.approval ? [part.approval.id] : [])];
  return part.type === 'data-input-request' || part.type === 'data-credential-request' ? [part.data.id] : [];
}

/** Tell whether a message still asks for anything. */
export function isAsking(message: Message | undefined): boolean {
  if (message?.role !== 'assistant') return false;
  const notes = notesOnCalls(message);
  return message.parts.some((part) => openThing(part, notes).length > 0);
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

/** Tell whether a part is something to read, hear or see for whoever asked. */
export function answersOf(part: Part): boolean {
  switch (part.type) {
    case 'text':
      return part.text.trim() !== '';
    case 'file':
    case 'data-file-reference':
    case 'data-artifact':
    case 'data-output':
    case 'data-code-execution-result':
      return true;
    default:
      return false;
  }
}

/** Tell whether an answer is over and says nothing: no word, no file, nothing asked, and no failure either. */
export function isEmptyAnswer(message: Message): boolean {
  const { failure, audio, adkFinishReason } = message.metadata ?? {};
  if (failure || audio || (adkFinishReason && adkFinishReason !== 'STOP')) return false;
  return (
    !isAsking(message) &&
    !standing(message).some((part) => answersOf(part) || SAYS_WHY.has(part.type) || isPending(part))
  );
}

/** Parts that say why there is no answer, or are part of one. */
const SAYS_WHY: ReadonlySet<string> = new Set([
  'data-error',
  'data-interrupted',
  'data-credential-request',
  'data-input-request',
  'data-unrecognised',
  'data-executable-code',
  'data-input-transcription',
  'reasoning-file',
  'custom',
]);

/** A call whose result was sent, or is to come. */
function isPending(part: Part): boolean {
  return isTool(part) && !part.state.startsWith('output');
}

type Meta = { adk?: { author?: unknown } };

/** All of a message's own text. */
export function textOf(message: Message): string {
  return standing(message)
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n\n');
}

/** A message's sources in order, and which of them each grounding chunk is. */
export type NumberedSource = { number: number; title: string; url: string; detail: string };

export function sourcesOf(message: Message): NumberedSource[] {
  const found: NumberedSource[] = [];
  for (const part of message.parts) {
    if (part.type === 'source-url') {
      const safe = /^https?:/i.test(part.url) && URL.canParse(part.url);
      const host = safe ? new URL(part.url).host : part.url.slice(0, 80);
      found.push({
        number: found.length + 1,
        title: part.title || host,
        url: safe ? part.url : '',
        detail: part.title ? host : '',
      });
    } else if (part.type === 'source-document') {
      found.push({
        number: found.length + 1,
        title: part.title,
        url: '',
        detail: [part.filename, part.mediaType].filter(Boolean).join(' · '),
      });
    }
  }
  for (const { uri = '', title = '', license = '' } of message.metadata?.citations ?? []) {
    if (!uri && !title) continue;
    const url = /^https?:/i.test(uri) && URL.canParse(uri) ? uri : '';
    if (url && found.some((known) => known.url === url)) continue;
    const detail = ['quoted', license].filter(Boolean).join(' · ');
    found.push({ number: found.length + 1, title: title || uri, url, detail });
  }
  return found;
}

/** Return the number of the source that a grounding chunk is, by its address or title. */
export function chunkNumbers(message: Message, sources: readonly NumberedSource[]): (chunk: number) => number | null {
  const chunks = message.metadata?.grounding?.groundingChunks ?? [];
  return (index) => {
    const chunk = chunks[index];
    const about = chunk?.web ?? chunk?.maps ?? chunk?.retrievedContext ?? chunk?.image;
    if (!about) return null;
    const address = 'uri' in about ? about.uri : undefined;
    const match = sources.find(
      (source) => (address && source.url === address) || (about.title && source.title === about.title),
    );
    return match?.number ?? null;
  };
}

// What the page draws of a chat. The AI SDK goes on writing into a message that it has just added: to a view that
// compares what it drew with what is there now, nothing would ever seem to change. So it draws a copy.

/** Return the messages with a copy of the last one, the only one that is written into. */
export function copyMessages(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (!last) return messages;
  return [...messages.slice(0, -1), { ...last, parts: last.parts.map((part) => ({ ...part })) }];
}
