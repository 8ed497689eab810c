/** What a film says had been said at a moment, as messages: the past is shown by the same parts as the present. */
import type { Said } from '../film/conversation';
import { type Film, once } from '../film/film';
import type { PrismCitation, PrismGrounding, PrismProof } from '@adk-prism/client/ai';
import type { DynamicToolUIPart } from 'ai';
import { isTool, type Message, type Part, type ToolPart } from './message';
import { endOf, type NodeItem } from '../film/timeline';
import { address, path } from '../app/server';
import { shared } from '../film/sharedFile';

/** Where a speaker ran when something was said: the latest run of an agent of that name that had not ended. */
const byName = once((film: Film): ReadonlyMap<string, NodeItem[]> => {
  const found = new Map<string, NodeItem[]>();
  for (const node of film.items.nodes) {
    if (node.is.kind === 'tool') continue;
    const same = found.get(node.is.name);
    if (same) same.push(node);
    else found.set(node.is.name, [node]);
  }
  return found;
});

/** Return path and branch of whoever spoke at a cursor, as the live stream says them; null where that is not known. */
function speakerPlace(film: Film, speaker: string, since: number): { path: string; branch: string } | null {
  const node = byName(film)
    .get(speaker)
    ?.findLast((one) => one.since <= since && (endOf(one)?.cursor ?? Infinity) >= since);
  return node ? { path: node.is.path, branch: node.is.lane } : null;
}

/** What is said no more comes as the same object each time, and so does its part: it is not drawn again. */
const known = new WeakMap<Said, { part: Part | null }>();

/**
 * What a run had said up to a moment; of one that is over, all. With its film, each part says where its speaker ran.
 */
type Telling = { run: string; said: readonly Said[]; film?: Film /** The moment; without it, the end. */; at?: number };

/** Return the messages of a conversation as it was. Their ids are derived, so that scrubbing keeps them. */
export function messagesOf(...tellings: readonly Telling[]): Message[] {
  const messages: Message[] = [];
  for (const telling of tellings) tell(messages, telling);
  return messages;
}

function tell(messages: Message[], { run, said, film, at }: Telling): void {
  const beside = film ? partsBeside(film, at ?? film.last) : [];
  let next = 0;
  const addBeside = (before: number) => {
    const last = messages.at(-1);
    for (; next < beside.length && beside[next]!.since < before; next++)
      if (last?.role === 'assistant') last.parts.push(beside[next]!.part);
  };
  for (const item of said) {
    addBeside(item.since);
    const answered = messages.findLast((message) => message.role === 'assistant');
    if (Object.hasOwn(ABOUT_ANSWERS, item.kind)) {
      if (answered && item.within === undefined) ABOUT_ANSWERS[item.kind]!((answered.metadata ??= NOT_KEPT()), item);
      continue;
    }
    const part = partOf(item, run, film);
    if (!part) continue;
    const last = messages.at(-1);
    if (item.kind === 'end' && item.outcome === 'failed' && answered && last === answered) {
      (answered.metadata ??= NOT_KEPT()).failure = text(item.text) || RUN_FAILED;
      if (answered.parts.some((one) => one.type === 'data-error' && one.data.code === item.code)) continue;
    }
    const role = item.kind === 'user' ? 'user' : 'assistant';
    // Whoever speaks up interrupts the answer before, and no answer of their own.
    if (item.kind === 'interrupted' && last?.role === 'user') {
      answered?.parts.push(part);
      continue;
    }
    if (last?.role !== role || role === 'user') messages.push({ id: `past-${messages.length}`, role, parts: [part] });
    else if (item.earlier) answer(last.parts, part as ToolPart);
    else last.parts.push(part);
  }
  addBeside(Infinity);
}

type Metadata = NonNullable<Message['metadata']>;

/** Without a run: what a film tells cannot be rated or regenerated. */
const NOT_KEPT = () => ({}) as Metadata;

/** What is said of an answer and not in it: what its words rest on, and why it stopped early. */
const ABOUT_ANSWERS: Readonly<Record<string, (metadata: Metadata, item: Said) => void>> = {
  grounding: (metadata, { grounding }) => {
    metadata.grounding = joinGrounding(metadata.grounding ?? {}, (grounding ?? {}) as PrismGrounding);
  },
  citations: (metadata, { citations }) => {
    const found = list((citations as { citations?: PrismCitation[] } | null)?.citations);
    metadata.citations = [...(metadata.citations ?? []), ...found];
  },
  finish: (metadata, item) => {
    metadata.adkFinishReason = text(item.reason);
    if (item.text) metadata.finishMessage = text(item.text);
  },
};

/** Several calls of models may ground one answer: the chunks of each stand behind those before, which are counted. */
function joinGrounding(before: PrismGrounding, next: PrismGrounding): PrismGrounding {
  const chunks = list(before.groundingChunks);
  const moved = list(next.groundingSupports).map((support) => ({
    ...support,
    groundingChunkIndices: list(support?.groundingChunkIndices).map((index) => index + chunks.length),
  }));
  return {
    groundingChunks: [...chunks, ...list(next.groundingChunks)],
    groundingSupports: [...list(before.groundingSupports), ...moved],
  };
}

/** What models and apps wrote may have any shape. */
function list<Kind>(value: readonly Kind[] | undefined): readonly Kind[] {
  return Array.isArray(value) ? value : [];
}

type Beside = { since: number; part: Part };

/** Return what stands beside the words at a cursor, as in the live stream: sources, how sure it is, and what was made. */
function partsBeside(film: Film, at: number): Beside[] {
  return besides(film).filter(({ since }) => since <= at);
}

const besides = once((film: Film): Beside[] => {
  const sources = film.items.sources.map(({ is, since }): Beside => ({ since, part: sourcePart(is) }));
  const proofs = film.items.proofs.flatMap(({ is, marks }): Beside[] => {
    const [since, proof] = marks.at(-1) ?? [0, null];
    if (!proof?.subject) return [];
    return [{ since, part: { type: 'data-proof', id: is.id, data: proof as PrismProof } }];
  });
  const artifacts = (film.items.artifacts ?? []).map(({ is, since }): Beside => {
    return { since, part: { type: 'data-artifact', data: { filename: is.name, version: is.version } } };
  });
  const outputs = film.items.nodes.flatMap(({ is, marks }) =>
    marks.flatMap(([since, news]): Beside[] =>
      'output' in news
        ? [{ since, part: { type: 'data-output', data: { author: is.name, path: is.path, output: news.output } } }]
        : [],
    ),
  );
  return [...sources, ...proofs, ...artifacts, ...outputs].sort((a, b) => a.since - b.since);
});

function sourcePart({ source, title, uri }: Film['items']['sources'][number]['is']): Part {
  if (/^https?:/i.test(uri)) return { type: 'source-url', sourceId: source, url: uri, ...(title ? { title } : {}) };
  const filename = uri.split('/').at(-1);
  const file = { mediaType: 'application/octet-stream', ...(filename ? { filename } : {}) };
  return { type: 'source-document', sourceId: source, title: title || uri, ...file };
}

function partOf(item: Said, run: string, film: Film | undefined): Part | null {
  let found = known.get(item);
  if (!found) {
    const place = item.within === undefined && film ? speakerPlace(film, text(item.speaker), item.since) : null;
    known.set(item, (found = { part: makePart(place ? { ...item, ...place } : item, run) }));
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
  const made =
    joints.get(given) ??
    ({ ...given, input: asked.input, callProviderMetadata: (asked as DynamicToolUIPart).callProviderMetadata } as Part);
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
  code: (item) => ({ type: 'data-executable-code', data: (item.code ?? {}) as object }),
  'code result': (item) => ({ type: 'data-code-execution-result', data: (item.result ?? {}) as object }),
  transfer: (item) => ({ type: 'data-transfer', data: { to: text(item.to) } }),
  error: (item) => ({
    type: 'data-error',
    data: { code: text(item.code), author: text(item.speaker), path: '', message: text(item.text) },
  }),
  'input request': (item) => ({
    type: 'data-input-request',
    data: { id: text(item.call), request: item.request ?? null },
  }),
  'credential request': (item) => ({
    type: 'data-credential-request',
    data: { id: text(item.call), request: item.request ?? null },
  }),
  interrupted: (item) => ({ type: 'data-interrupted', data: { author: text(item.speaker) } }),
  takeover: (item) => ({
    type: 'data-prism-takeover',
    data: { epoch: 0, superseded: [], inDoubt: Array.isArray(item.calls) ? item.calls.map(text) : [] },
  }),
  end,
};

function words(type: 'text' | 'reasoning'): (item: Said) => Part {
  return (item) => ({
    type,
    text: text(item.text),
    state: item.complete ? 'done' : 'streaming',
    providerMetadata: about(item),
  });
}

/** Who speaks, and where: inside which call, or in which branch. */
function about(item: Said) {
  const { within, path, branch } = item;
  return {
    adk: {
      author: text(item.speaker),
      ...(within === undefined ? {} : { within: text(within) }),
      ...(path ? { path: text(path) } : {}),
      ...(branch ? { branch: text(branch) } : {}),
    },
  };
}

function file(item: Said, run: string): Part {
  const facts = { mediaType: text(item.mediaType), providerMetadata: about(item) };
  return { type: 'file', ...facts, ...(item.name ? { filename: text(item.name) } : {}), url: fileAddress(run, item) };
}

function call(item: Said): Part {
  const facts = {
    type: 'dynamic-tool' as const,
    toolName: text(item.name),
    toolCallId: text(item.call),
    input: item.input,
    callProviderMetadata: about(item),
    ...(item.by === 'provider' ? { providerExecuted: true } : {}),
  };
  switch (item.status) {
    case 'answered':
      return { ...facts, state: 'output-available', output: item.output };
    case 'failed':
      return { ...facts, state: 'output-error', errorText: text(item.error) };
    case 'abandoned':
      return { ...facts, state: 'output-error', errorText: 'The run stopped before this tool returned.' };
    case 'denied':
      return { ...facts, state: 'output-denied', approval: { id: '', approved: false, reason: text(item.reason) } };
    case 'awaiting approval':
      return { ...facts, state: 'approval-requested', approval: { id: text(item.approval) } };
    default:
      return item.progress
        ? { ...facts, state: 'output-available', preliminary: true, output: item.progress }
        : { ...facts, state: 'input-available' };
  }
}

/** The end is shown where it is not the usual one. */
function end(item: Said): Part | null {
  if (item.outcome === 'failed') return broken(text(item.code) || 'failed', text(item.text) || RUN_FAILED);
  if (item.outcome === 'incomplete')
    return broken('incomplete', 'The recording is incomplete: it ends before the run does.');
  return item.outcome === 'cancelled' ? { type: 'data-interrupted', data: { author: '' } } : null;
}

const RUN_FAILED = 'The run failed.';

function broken(code: string, message: string): Part {
  return { type: 'data-error', data: { code, author: '', path: '', message } };
}

function text(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}

/** Where the bytes of a file are: beside the film in a shared file, in the log of the server, or elsewhere. */
function fileAddress(run: string, { since, part, uri }: Said): string {
  if (uri) return String(uri);
  const place = `${since}/${part}`;
  const embedded = shared();
  if (embedded) return embedded.files[place] ?? 'left-out:too-large-for-this-file';
  return address(path('api', 'runs', run, 'files', String(since), String(part)));
}
