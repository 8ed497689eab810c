/** What a film says had been said at a moment, as messages: the past is shown by the same parts as the present. */
import type { Said } from '../film/conversation';
import { fileAddress } from '../film/files';
import type { DynamicToolUIPart } from 'ai';
import { isTool, type Message, type Part, type ToolPart } from './message';

/** What is said no more comes as the same object each time, and so does its part: it is not drawn again. */
const known = new WeakMap<Said, { part: Part | null }>();
const depths = new WeakMap<Part, number>();

/** Return how deep inside of tools a part was said: 0 for what everybody heard. */
export function depthOf(part: Part): number {
  return depths.get(part) ?? 0;
}

/** What a run had said up to a moment; of one that is over, all. */
export type Telling = { run: string; said: readonly Said[] };

/** Return the messages of a conversation as it was. Their ids are derived, so that scrubbing keeps them. */
export function messagesOf(...tellings: readonly Telling[]): Message[] {
  const messages: Message[] = [];
  for (const { run, said } of tellings) tell(messages, said, run);
  return messages;
}

function tell(messages: Message[], said: readonly Said[], run: string): void {
  const inside = new Map<string, number>();
  for (const item of said) {
    const depth = item.within === undefined ? 0 : (inside.get(text(item.within)) ?? 0) + 1;
    if (item.kind === 'call') inside.set(text(item.call), depth);
    const part = partOf(item, run, depth);
    if (!part) continue;
    const last = messages.at(-1);
    const role = item.kind === 'user' ? 'user' : 'assistant';
    if (last?.role !== role || role === 'user') messages.push({ id: `past-${messages.length}`, role, parts: [part] });
    else if (item.earlier) answer(last.parts, part as ToolPart);
    else last.parts.push(part);
  }
}

function partOf(item: Said, run: string, depth: number): Part | null {
  let found = known.get(item);
  if (!found) {
    const part = makePart(item, run);
    if (part && depth > 0) depths.set(part, depth);
    known.set(item, (found = { part }));
  }
  return found.part;
}

/** A run that goes on with another's may answer what was asked there: the call's card says so. */
function answer(parts: Part[], given: ToolPart): void {
  const place = parts.findIndex((part) => isTool(part) && part.toolCallId === given.toolCallId);
  if (place < 0) parts.push(given);
  else parts[place] = joined(parts[place] as ToolPart, given);
}

const joints = new WeakMap<Part, Part>();

function joined(asked: ToolPart, given: ToolPart): Part {
  const made = joints.get(given) ?? ({ ...given, input: asked.input, callProviderMetadata: (asked as DynamicToolUIPart).callProviderMetadata } as Part);
  joints.set(given, made);
  return made;
}

function makePart(item: Said, run: string): Part | null {
  if (item.kind === 'file') return file(item, run);
  const make = Object.hasOwn(MAKERS, item.kind) ? MAKERS[item.kind] : undefined;
  if (make) return make(item);
  const { kind, ...raw } = item;
  return { type: 'data-unrecognised', data: { kind, raw: raw as never } };
}

const MAKERS: Readonly<Record<string, (item: Said) => Part | null>> = {
  user: (item) => ({ type: 'text', text: text(item.text) }),
  text: words('text'),
  transcript: words('text'),
  reasoning: words('reasoning'),
  call,
  transfer: (item) => ({ type: 'data-transfer', data: { to: text(item.to) } }),
  error: (item) => ({ type: 'data-error', data: { code: text(item.code), author: text(item.speaker), path: '', message: text(item.text) } }),
  'input request': (item) => ({ type: 'data-input-request', data: { id: text(item.call), request: item.request ?? null } }),
  'credential request': (item) => ({ type: 'data-credential-request', data: { id: text(item.call), request: item.request ?? null } }),
  takeover: (item) => ({ type: 'data-prism-takeover', data: { epoch: 0, superseded: [], inDoubt: Array.isArray(item.calls) ? item.calls.map(text) : [] } }),
  end,
};

function words(type: 'text' | 'reasoning'): (item: Said) => Part {
  return (item) => ({
    type,
    text: text(item.text),
    state: item.complete ? 'done' : 'streaming',
    providerMetadata: { adk: { author: authorOf(item) } },
  });
}

/** Who speaks; of an agent inside a tool that is said, for its words are no part of the answer. */
function authorOf(item: Said): string {
  return item.within === undefined ? text(item.speaker) : `${text(item.speaker)}, inside a tool`;
}

function file(item: Said, run: string): Part {
  const about = { mediaType: text(item.mediaType), providerMetadata: { adk: { author: authorOf(item) } } };
  return { type: 'file', ...about, ...(item.name ? { filename: text(item.name) } : {}), url: fileAddress(run, item) };
}

function call(item: Said): Part {
  const about = {
    type: 'dynamic-tool' as const,
    toolName: text(item.name),
    toolCallId: text(item.call),
    input: item.input,
    callProviderMetadata: { adk: { author: authorOf(item) } },
  };
  switch (item.status) {
    case 'answered':
      return { ...about, state: 'output-available', output: item.output };
    case 'failed':
      return { ...about, state: 'output-error', errorText: text(item.error) };
    case 'abandoned':
      return { ...about, state: 'output-error', errorText: 'The run stopped before this tool returned.' };
    case 'denied':
      return { ...about, state: 'output-denied', approval: { id: '', approved: false, reason: text(item.reason) } };
    case 'awaiting approval':
      return { ...about, state: 'approval-requested', approval: { id: text(item.approval) } };
    default:
      return { ...about, state: 'input-available' };
  }
}

/** The end is told where it is not the one that everybody expects. */
function end(item: Said): Part | null {
  if (item.outcome === 'failed') return broken(text(item.code) || 'failed', text(item.text) || 'The run failed.');
  if (item.outcome === 'incomplete') return broken('incomplete', 'The recording is incomplete: it ends before the run does.');
  return item.outcome === 'cancelled' ? { type: 'data-interrupted', data: { author: '' } } : null;
}

function broken(code: string, message: string): Part {
  return { type: 'data-error', data: { code, author: '', path: '', message } };
}

function text(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}
