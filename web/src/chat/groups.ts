/**
 * The parts of an answer by who worked on them: what a sub-agent said and did is one group, at the place of its call.
 */
import { answersOf, authorOf, isTool, toolName, type Part, type ToolPart } from './message';

/** A part, and its place in the message. */
export type Placed = { part: Part; index: number };

export type Group = {
  kind: 'group';
  /** Index of its first part. */
  index: number;
  /** The agent's name, or that of the tool that runs it. */
  name: string;
  /** The call that the agent answers; null for one that speaks for itself. */
  call: ToolPart | null;
  /** Where the agent ran, as ADK says it. */
  path: string;
  branch: string;
  parts: Placed[];
};

/** Calls of one tool, one after the other, that are done: one line stands for all. */
export type Repeats = { kind: 'repeats'; index: number; name: string; parts: Placed[] };

export type Item = ({ kind: 'part' } & Placed) | Group | Repeats;

/** So many equal calls in a row, at least, become one line. */
const LEAST_REPEATS = 4;

/** Return the items with equal calls folded; what failed, or waits for somebody, stands by itself. */
export function folded(items: readonly Item[], isQuiet: (part: ToolPart) => boolean): Item[] {
  const found: Item[] = [];
  for (let index = 0; index < items.length; ) {
    const same: Placed[] = [];
    let name = '';
    for (let next = items[index]; next?.kind === 'part'; next = items[index + same.length]) {
      const { part } = next;
      if (!isTool(part) || part.state !== 'output-available' || !isQuiet(part)) break;
      name ||= toolName(part);
      if (toolName(part) !== name) break;
      same.push({ part, index: next.index });
    }
    if (same.length >= LEAST_REPEATS) found.push({ kind: 'repeats', index: same[0]!.index, name, parts: same });
    else found.push(...items.slice(index, index + Math.max(1, same.length)));
    index += Math.max(1, same.length);
  }
  return found;
}

type Place = { author?: unknown; path?: unknown; branch?: unknown; within?: unknown };

/** Return the parts in order, those of sub-agents in groups; inside of a group, `level` says how deep it is. */
export function grouped(placed: readonly Placed[], calls: Calls, level = 0): Item[] {
  const items: Item[] = [];
  const groups = new Map<string, Group>();
  const busy = new Set(level < DEEPEST ? placed.map(({ part }) => calls.around(part)[level]) : NONE);
  for (const one of placed) {
    const { part, index } = one;
    const opens = isTool(part) && busy.has(part.toolCallId) ? part : null;
    const key = opens ? opens.toolCallId : keyOf(part, calls, level);
    const known = groups.get(key);
    if (known) known.parts.push(one);
    else if (!key) items.push({ kind: 'part', ...one });
    else {
      const { path, branch } = placeOf(part);
      const group: Group = {
        kind: 'group',
        index,
        name: opens ? toolName(opens) : authorOf(part),
        call: opens,
        path: String(path ?? ''),
        branch: String(branch ?? ''),
        parts: [one],
      };
      groups.set(key, group);
      items.push(group);
    }
  }
  return items;
}

/** Return how many tools were called; a call that an agent answers is that agent, as in the trace. */
export function countTools(parts: readonly Part[]): number {
  const calls = new Calls(parts);
  const agents = new Set(parts.flatMap((part) => calls.around(part)));
  return parts.filter((part) => isTool(part) && !agents.has(part.toolCallId)).length;
}

/** Groups in groups; what is still deeper stands in the last one. */
const DEEPEST = 5;

function keyOf(part: Part, calls: Calls, level: number): string {
  if (level >= DEEPEST) return '';
  return calls.around(part)[level] ?? (level === 0 ? speakerKey(part) : '');
}

/** A sub-agent that no call asked speaks for itself: after a transfer, in a sequence, side by side with others. */
function speakerKey(part: Part): string {
  if (part.type !== 'text' && part.type !== 'reasoning' && !isTool(part)) return '';
  const { path, branch } = placeOf(part);
  const isSub = typeof path === 'string' && path.includes('/');
  // In a sequence, agents speak after each other at one place: each has a group of its own.
  const place = `${String(branch ?? '')} ${String(path ?? '')} ${authorOf(part)}`;
  return isSub || (typeof branch === 'string' && branch !== '') ? place : '';
}

/** The calls of a message, and which of them a part stands inside of. */
export class Calls {
  private readonly known = new Map<string, ToolPart>();
  private readonly found = new Map<Part, readonly string[]>();

  constructor(parts: readonly Part[]) {
    for (const part of parts) if (isTool(part)) this.known.set(part.toolCallId, part);
  }

  /** Return the calls around a part, the outermost first. */
  around(part: Part): readonly string[] {
    let found = this.found.get(part);
    if (!found) {
      this.found.set(part, NONE); // A call that says it stands inside of itself stands nowhere.
      this.found.set(part, (found = this.search(part)));
    }
    return found;
  }

  private search(part: Part): readonly string[] {
    const own = this.named(part);
    const outer = own[0] === undefined ? undefined : this.known.get(own[0]);
    return outer ? [...this.around(outer), ...own] : own;
  }

  private named(part: Part): readonly string[] {
    if (part.type === 'data-proof')
      return (part.data.subject.kind === 'specialist' ? (part.data.subject.calls ?? []) : NONE)
        .filter((call) => this.known.has(call))
        .slice(0, 1);
    const { within, branch, path } = placeOf(part);
    if (typeof within === 'string') return this.known.has(within) ? [within] : NONE;
    const own = isTool(part) ? part.toolCallId : '';
    const ids = `${String(branch ?? '')}.${String(path ?? '')}`.match(CALL_IDS) ?? NONE;
    return [...new Set(ids.filter((id) => id !== own && this.known.has(id)))];
  }
}

const NONE: readonly string[] = [];

/** What stands behind an @ in a branch or path: the id of a call, or a number. */
const CALL_IDS = /(?<=@)[^@./]+/g;

/** Where a part was made. A workflow's output says it in its data. */
export function placeOf(part: Part): Place {
  const about = part as { providerMetadata?: { adk?: Place }; callProviderMetadata?: { adk?: Place }; data?: Place };
  return (
    (about.providerMetadata ?? about.callProviderMetadata)?.adk ??
    (part.type === 'data-output' || part.type === 'data-error' ? (about.data ?? {}) : {})
  );
}

/** Return the index of the part that is the answer: the last one that says something to the user. */
export function answerIndex(parts: readonly Part[]): number {
  return parts.findLastIndex(answersOf);
}
