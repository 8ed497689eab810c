/**
 * A client of the Studio protocol (SSE Schema v2): one file, no dependencies, for browsers and Node.
 *
 *   const client = new StudioClient('/api/studio/tour', { edges: graph.edges, nodes: graph.nodes });
 *   client.subscribe(() => render(client.getState()));
 *   await client.send('What is ADK?');
 *
 * Every state is a new object and never changes, so it fits React's `useSyncExternalStore` as it is. The pieces can be
 * used alone: `SseParser` (bytes to events), `reduce` (events to state), `listen` (EventSource).
 *
 * Unlike the program that the protocol was written for: text is appended; keys belong to edges, not nodes; a failed
 * node is an error; the index stays on its snapshot while old ones are dropped; a dropped connection is told from a
 * failed run, and gone on with where it broke off.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, unknown>;

/** One named event of the stream. `session`, `chunk` and `end` carry text, all others JSON. */
export interface StudioEvent {
  event: string;
  data: string;
  id: string;
}

export type NodeStatus = 'running' | 'success' | 'error' | 'cancelled' | 'waiting';

/** One execution of a node, for a timeline. */
export interface StateSnapshot {
  /** The node's id in the graph, where there is one; else its name. */
  nodeId: string;
  nodeLabel: string;
  /** Of this execution: a node of a loop has one `nodeId` and many of these. */
  executionId: string;
  timestamp: number;
  inputState: JsonObject;
  outputState: JsonObject;
  duration: number;
  status: NodeStatus;
  error?: string;
  step: number;
  iteration: number;
  /** The keys of the two states that are not of the session: what the node was asked, and what it answered. */
  overlay: { input?: readonly string[]; output?: readonly string[] };
  /** What it gave on or answered, once it has ended. */
  result?: unknown;
}

/** What was seen to flow along an edge to a tool or a called agent, and back. */
export interface Flow {
  args: readonly string[];
  results: readonly string[];
}

export interface ToolCall {
  id: string;
  name: string;
  args: unknown;
  node?: string;
  /** The call inside which an agent of its own makes this one. */
  within?: string;
  status: 'running' | 'success' | 'error' | 'denied' | 'abandoned';
  result?: unknown;
  error?: string;
}

/** A question to a person; answer it with `client.answer`. */
export interface Interrupt {
  type: 'approval' | 'input' | 'credential';
  node_id: string;
  message: string;
  data: JsonObject & { id: string; call?: string };
  thread_id: string;
  checkpoint_id: string;
  timestamp: number;
}

export interface GraphNode {
  id: string;
  name: string;
}

export interface GraphEdge {
  id: string;
  from: string;
  to: string;
  kind?: string;
}

export interface Graph {
  nodes?: readonly GraphNode[];
  edges?: readonly GraphEdge[];
}

export type Status = 'idle' | 'running' | 'reconnecting' | 'waiting' | 'cancelled' | 'done' | 'error';

export interface StudioState {
  sessionId: string | null;
  runId: string | null;
  /** Position of the last event: what a reconnect goes on after. */
  lastEventId: string;
  text: string;
  thinking: string;
  snapshots: readonly StateSnapshot[];
  currentSnapshotIndex: number;
  /** Edge id → the keys that went along it: of the state, to the next step; of arguments and results, of a call. */
  stateKeys: ReadonlyMap<string, readonly string[]>;
  /** Edge id of a tool or a called agent → the keys by direction. */
  flows: ReadonlyMap<string, Flow>;
  toolCalls: readonly ToolCall[];
  interrupts: readonly Interrupt[];
  logs: readonly { message: string; node?: string; level?: string }[];
  /** The state that is known now: after the last change, or at the end. */
  sessionState: JsonObject;
  status: Status;
  error: string | null;
  /** The next piece of text begins a paragraph: something else happened in between. */
  paragraph: boolean;
}

export const MAX_SNAPSHOTS = 100;
const MAX_LOGS = 500;
/** Edges of calls: arguments and results flow along them, and no state from one step to the next. */
const CALLS = new Set(['tool', 'delegation']);
/** What a result that is no object is called, as in ADK's own responses. */
const RESULT = 'result';

export const INITIAL: StudioState = Object.freeze({
  sessionId: null,
  runId: null,
  lastEventId: '',
  text: '',
  thinking: '',
  snapshots: [],
  currentSnapshotIndex: -1,
  stateKeys: new Map(),
  flows: new Map(),
  toolCalls: [],
  interrupts: [],
  logs: [],
  sessionState: {},
  status: 'idle',
  error: null,
  paragraph: false,
});

// ------------------------------------------------------------------------------ bytes to events

/** Reads server-sent events (WHATWG HTML) from pieces of a stream, wherever they are cut. */
export class SseParser {
  #decoder = new TextDecoder('utf-8');
  #rest = '';
  #data: string[] = [];
  #event = '';
  #id: string;

  constructor(lastEventId = '') {
    this.#id = lastEventId;
  }

  /** Return the events that a piece completes. */
  push(piece: Uint8Array): StudioEvent[] {
    this.#rest += this.#decoder.decode(piece, { stream: true });
    // A CR at the end may be half of a CRLF, so it waits for the next piece.
    const complete = this.#rest.endsWith('\r') ? this.#rest.length - 1 : this.#rest.length;
    const lines = this.#rest.slice(0, complete).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() + this.#rest.slice(complete);
    return lines.flatMap((line) => this.#take(line));
  }

  #take(line: string): StudioEvent[] {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return [];
  }

  #dispatch(): StudioEvent[] {
    const found = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    const isEvent = this.#data.length > 0;
    this.#data = [];
    this.#event = '';
    return isEvent ? [found] : [];
  }
}

// ------------------------------------------------------------------------------ events to state

export interface ReduceOptions extends Graph {
  maxSnapshots?: number;
}

/** Return the state after an event. Events that are not known change nothing but the position. */
export function reduce(before: StudioState, event: StudioEvent, options: ReduceOptions = {}): StudioState {
  const state = { ...before, lastEventId: event.id || before.lastEventId };
  const text = TEXT_REDUCERS[event.event];
  if (text) return text(state, event);
  const json = JSON_REDUCERS[event.event];
  return json ? json(state, JSON.parse(event.data), options) : state;
}

const TEXT_REDUCERS: Record<string, (state: StudioState, event: StudioEvent) => StudioState> = {
  session: (state, event) => ({
    ...state,
    sessionId: event.data,
    runId: event.id.split(':')[0] ?? null,
    status: 'running',
  }),
  chunk: (state, event) => ({
    ...state,
    text: state.text + (state.paragraph && state.text ? '\n\n' : '') + event.data,
    paragraph: false,
  }),
  end: (state) => ({ ...state, status: state.status === 'running' ? 'done' : state.status }),
};

// biome-ignore lint/suspicious/noExplicitAny: what an event holds depends on its name; the reducers know.
type Received = any;
type JsonReducer = (state: StudioState, data: Received, options: ReduceOptions) => StudioState;

const JSON_REDUCERS: Record<string, JsonReducer> = {
  thinking: (state, data) => ({ ...state, thinking: state.thinking + data.content }),
  trace: (state, data, options) => TRACE_REDUCERS[data.type]?.(state, data, options) ?? state,
  tool_call: (state, data, options) => ({
    ...carry(state, data, { args: keysOf(data.args), results: [] }, options),
    paragraph: true,
    toolCalls: [...state.toolCalls, { ...data, status: 'running' }],
  }),
  tool_result: (state, data, options) => {
    const call = callOf(state.toolCalls, data);
    const flowed = carry(state, { ...call, name: data.name }, { args: [], results: keysOf(data.result) }, options);
    return { ...flowed, toolCalls: answered(state.toolCalls, data) };
  },
  // Text that the agent did not stand by is taken back: the log then has all that stands.
  log: (state, data) => ({
    ...state,
    text: data.text ?? state.text,
    thinking: data.thinking ?? state.thinking,
    paragraph: state.paragraph || data.text !== undefined,
    logs: [...state.logs, data].slice(-MAX_LOGS),
  }),
  interrupt: (state, data) => ({ ...state, interrupts: [...state.interrupts, data] }),
  resume: (state, data) => ({
    ...state,
    interrupts: state.interrupts.filter((asked) => asked.node_id !== data.node_id),
  }),
  error: (state, data) => ({ ...state, status: 'error', error: data.message }),
};

const TRACE_REDUCERS: Record<string, JsonReducer> = {
  node_start: (state, data, options) => {
    const started: StateSnapshot = {
      nodeId: nodeIn(options, data.node, data.path),
      nodeLabel: data.node,
      executionId: executionOf(state, data),
      timestamp: data.timestamp ?? Date.now(),
      inputState: data.state_snapshot?.input ?? {},
      outputState: {},
      duration: 0,
      status: 'running',
      step: data.step ?? state.snapshots.length + 1,
      iteration: data.iteration ?? 1,
      overlay: data.overlay ?? {},
    };
    return keep(state, [...state.snapshots, started], options.maxSnapshots ?? MAX_SNAPSHOTS);
  },
  node_end: (state, data, options) => {
    const ended = (snapshot: StateSnapshot): StateSnapshot => ({
      ...snapshot,
      inputState: data.state_snapshot?.input ?? snapshot.inputState,
      outputState: data.state_snapshot?.output ?? {},
      duration: data.duration_ms ?? 0,
      status: data.status ?? 'success',
      ...(data.error === undefined ? {} : { error: data.error }),
      overlay: data.overlay ?? {},
      ...(data.result === undefined ? {} : { result: data.result }),
    });
    const execution = executionOf(state, data);
    return {
      ...state,
      paragraph: true,
      snapshots: state.snapshots.map((one) => (one.executionId === execution ? ended(one) : one)),
      stateKeys: flow(state.stateKeys, nodeIn(options, data.node, data.path), data, options),
      sessionState: stateAfter(data) ?? state.sessionState,
    };
  },
  state: (state, data) => ({ ...state, sessionState: data.state_snapshot.output }),
  done: (state, data) => ({
    ...state,
    sessionState: stateAfter(data) ?? state.sessionState,
    status: data.status ?? 'done',
  }),
};

/** Return the session's state at the end of a trace: the output without what is laid over it. */
function stateAfter(data: Received): JsonObject | undefined {
  const output: JsonObject | undefined = data.state_snapshot?.output;
  const laid: readonly string[] = data.overlay?.output ?? [];
  if (!output || laid.length === 0) return output;
  return Object.fromEntries(Object.entries(output).filter(([key]) => !laid.includes(key)));
}

function callOf(calls: readonly ToolCall[], data: Received): ToolCall | undefined {
  // Without ids (version 1) a result belongs to the oldest open call of its tool.
  return calls.find((call) =>
    data.id === undefined ? call.name === data.name && call.status === 'running' : call.id === data.id,
  );
}

function answered(calls: readonly ToolCall[], data: Received): ToolCall[] {
  const known = callOf(calls, data);
  const result = { ...data, status: data.status ?? 'success' };
  if (!known) return [...calls, { args: {}, ...result }];
  return calls.map((call) => (call === known ? { ...call, ...result } : call));
}

/** Add a snapshot and drop the oldest; the index stays where it points, or follows the newest. */
function keep(state: StudioState, snapshots: StateSnapshot[], most: number): StudioState {
  const dropped = Math.max(0, snapshots.length - most);
  const followed = state.currentSnapshotIndex === state.snapshots.length - 1;
  const index = followed ? snapshots.length - 1 : state.currentSnapshotIndex;
  const kept = snapshots.slice(dropped);
  return { ...state, snapshots: kept, currentSnapshotIndex: clamp(index - dropped, kept.length) };
}

function clamp(index: number, length: number): number {
  return length === 0 ? -1 : Math.min(Math.max(index, 0), length - 1);
}

/** Ids count from one in every run, and a session's state may span runs. */
function executionOf(state: StudioState, data: Received): string {
  return `${state.runId ?? ''}/${data.id ?? `${data.node}#${data.step}`}`;
}

/**
 * Find a node in the graph: by its path without the numbers of its runs; else, as the only one of its name; else by
 * the longest beginning of its path, for a node that another started while it ran; else as the first of its name.
 */
export function nodeIn(graph: Graph, name: string, path?: string): string {
  const nodes = graph.nodes ?? [];
  const steps = path?.split('/').map((step) => step.split('@')[0]) ?? [];
  const places = steps.map((_, index) => steps.slice(0, steps.length - index).join('/'));
  const exact = nodes.find((node) => node.id === places[0]);
  const named = nodes.filter((node) => node.name === name);
  const only = named.length === 1 ? named[0] : undefined;
  const above = () => places.find((place) => nodes.some((node) => node.id === place));
  return exact?.id ?? only?.id ?? above() ?? named[0]?.id ?? name;
}

function keysOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  return typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [RESULT];
}

function union(before: readonly string[] = [], more: readonly string[]): readonly string[] {
  return [...new Set([...before, ...more])];
}

/** Add what flowed to the edge of a call: from the node that makes it to the tool, or agent, of its name. */
function carry(state: StudioState, call: Received, keys: Flow, graph: Graph): StudioState {
  const caller =
    state.snapshots.filter((one) => one.nodeLabel === call.node).at(-1)?.nodeId ?? nodeIn(graph, call.node);
  const nameOf = (id: string) => graph.nodes?.find((node) => node.id === id)?.name ?? id;
  const edge = graph.edges?.find(
    (one) => one.from === caller && CALLS.has(one.kind ?? '') && nameOf(one.to) === call.name,
  );
  if (!edge) return state;
  const before = state.flows.get(edge.id);
  const flow = { args: union(before?.args, keys.args), results: union(before?.results, keys.results) };
  return {
    ...state,
    flows: new Map(state.flows).set(edge.id, flow),
    stateKeys: new Map(state.stateKeys).set(edge.id, union(flow.args, flow.results)),
  };
}

function flow(
  before: ReadonlyMap<string, readonly string[]>,
  nodeId: string,
  data: Received,
  graph: Graph,
): ReadonlyMap<string, readonly string[]> {
  const leaving = (graph.edges ?? []).filter((edge) => edge.from === nodeId && !CALLS.has(edge.kind ?? ''));
  if (leaving.length === 0) return before;
  const after = new Map(before);
  for (const edge of leaving) after.set(edge.id, data.state_keys ?? []);
  return after;
}

// ------------------------------------------------------------------------------ EventSource

const EVENTS = [...Object.keys(TEXT_REDUCERS), ...Object.keys(JSON_REDUCERS)];

/**
 * Hand a browser's EventSource on. It reconnects by itself; the server ends that with 204. Its own
 * `error` event, a lost connection, has no data and is not handed on. Returns a function that stops.
 */
export function listen(source: EventSource, take: (event: StudioEvent) => void): () => void {
  const hear = (message: Event): void => {
    const { type, data, lastEventId } = message as MessageEvent;
    if (typeof data !== 'string') return;
    take({ event: type, data, id: lastEventId });
    if (type === 'end' || (type === 'error' && !isBroken(data))) source.close();
  };
  for (const name of EVENTS) source.addEventListener(name, hear);
  return () => {
    for (const name of EVENTS) source.removeEventListener(name, hear);
    source.close();
  };
}

/** Tell the server's word that only its stream broke off, and the run goes on, from a failed run. */
function isBroken(data: string): boolean {
  return JSON.parse(data).code === 'stream_broken';
}

// ------------------------------------------------------------------------------ the store

export interface Answer {
  /** `data.id` of the interrupt; none for a tool that this client ran. */
  id?: string;
  /** For an approval `data.call` of the interrupt; for a tool that this client ran, its call. */
  call?: string;
  approved?: boolean;
  reason?: string;
  /** What the tool wants with the approval, in the shape of the interrupt's `data.schema`. */
  payload?: unknown;
  /** Of an input or credential request, or of the tool. */
  result?: unknown;
}

export interface StudioOptions extends ReduceOptions {
  sessionId?: string;
  userId?: string;
  fetch?: typeof fetch;
  headers?: Record<string, string>;
  /** Milliseconds before the first reconnect; each next one waits twice as long, up to 30 times that. */
  retry?: number;
  /** Reconnects without a single new event before it gives up. */
  retries?: number;
}

/** Follows one session's runs over fetch and reconnects by itself. */
export class StudioClient {
  #base: string;
  #options: StudioOptions;
  #state: StudioState = INITIAL;
  #listeners = new Set<() => void>();
  #leaving = new AbortController();

  constructor(base: string, options: StudioOptions = {}) {
    this.#base = base.replace(/\/$/, '');
    this.#options = options;
    if (options.sessionId) this.#state = { ...INITIAL, sessionId: options.sessionId };
  }

  getState = (): StudioState => this.#state;

  /** Call `listener` after every change. Returns a function that stops it. */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Say something. Resolves when the run is over, failed, or waits for an answer. */
  send(input: string): Promise<StudioState> {
    return this.#run({ input });
  }

  /** Answer interrupts. Text, snapshots and calls go on where they were. */
  answer(answers: Answer[]): Promise<StudioState> {
    const given = new Set(answers.map((answer) => answer.id));
    const interrupts = this.#state.interrupts.filter((asked) => !given.has(asked.data.id));
    return this.#run({ answers }, { ...this.#state, interrupts });
  }

  /** Look at another snapshot; the newest one is followed as new ones come. */
  seek(index: number): void {
    this.#set({ ...this.#state, currentSnapshotIndex: clamp(index, this.#state.snapshots.length) });
  }

  /** Stop watching. The run itself goes on: it is the server's. */
  leave(): void {
    this.#leaving.abort();
    this.#leaving = new AbortController();
  }

  async #run(body: JsonObject, before: StudioState = INITIAL): Promise<StudioState> {
    this.leave();
    const { userId } = this.#options;
    const sessionId = this.#state.sessionId;
    this.#set({ ...before, sessionId, lastEventId: '', status: 'running', error: null });
    const asked = { ...body, ...(sessionId ? { session_id: sessionId } : {}), ...(userId ? { user_id: userId } : {}) };
    // The key makes a start that is repeated before its first event one start.
    const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() };
    await this.#follow({ method: 'POST', headers, body: JSON.stringify(asked) });
    return this.#state;
  }

  async #follow(start: RequestInit): Promise<void> {
    const signal = this.#leaving.signal;
    const { retry = 1000, retries = 10 } = this.#options;
    for (let failures = 0; failures <= retries; failures += 1) {
      const seen = this.#state.lastEventId;
      const request = seen ? { headers: { 'last-event-id': seen } } : start;
      if (await this.#read(request, signal)) return;
      if (this.#state.lastEventId !== seen) failures = 0;
      this.#set({ ...this.#state, status: 'reconnecting' });
      await pause(Math.min(retry * 2 ** failures, retry * 30), signal);
      if (signal.aborted) return;
      this.#set({ ...this.#state, status: 'running' });
    }
    this.#set({ ...this.#state, status: 'error', error: 'The connection was lost.' });
  }

  /** Read one response. Returns whether all is said: the run's end, a refusal, or nobody listens. */
  async #read(request: RequestInit, signal: AbortSignal): Promise<boolean> {
    try {
      const headers = { ...this.#options.headers, ...request.headers, accept: 'text/event-stream' };
      const send = this.#options.fetch ?? fetch;
      const response = await send(`${this.#base}/stream`, { ...request, headers, signal });
      if (response.status === 204) return this.#over();
      if (!response.ok) return await this.#refused(response);
      return await this.#take(response);
    } catch {
      return signal.aborted;
    }
  }

  async #take(response: Response): Promise<boolean> {
    const parser = new SseParser(this.#state.lastEventId);
    const reader = response.body!.getReader();
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        for (const event of parser.push(piece.value)) {
          if (event.event === 'error' && isBroken(event.data)) return false;
          this.#set(reduce(this.#state, event, this.#options));
          if (event.event === 'end' || event.event === 'error') return true;
        }
      }
      return false;
    } finally {
      void reader.cancel().catch(() => {});
    }
  }

  #over(): boolean {
    if (this.#state.status === 'running') this.#set({ ...this.#state, status: 'done' });
    return true;
  }

  async #refused(response: Response): Promise<boolean> {
    if (response.status === 503 || response.status === 502 || response.status === 504) return false;
    const problem = await response.json().catch(() => ({}));
    const error = problem.detail ?? `The server answered ${response.status}.`;
    this.#set({ ...this.#state, status: 'error', error });
    return true;
  }

  #set(state: StudioState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}

// ------------------------------------------------------------------------------ the hook

/** The three of React's own hooks that `createUseSSE` needs: hand React itself over. */
export interface Hooks {
  useState<Value>(initial: () => Value): [Value, (value: Value) => void];
  useEffect(effect: () => () => void, dependencies: readonly unknown[]): void;
  useSyncExternalStore<Value>(
    subscribe: (listener: () => void) => () => void,
    getSnapshot: () => Value,
    getServerSnapshot?: () => Value,
  ): Value;
}

/** What `useSSE` returns: the state, with the schema's `snapshots`, `currentSnapshotIndex` and `stateKeys`, and what can be done. */
export interface UseSSEReturn extends StudioState {
  send(input: string): Promise<StudioState>;
  answer(answers: Answer[]): Promise<StudioState>;
  /** Look at another snapshot. */
  seek(index: number): void;
  /** Stop watching; the run goes on. */
  cancel(): void;
}

/**
 * Return the schema's `useSSE` hook for a React: `const useSSE = createUseSSE(React)`. The file needs no React itself.
 * A component keeps the client that it made first; give it another `key` for another app or graph.
 */
export function createUseSSE(hooks: Hooks): (base: string, options?: StudioOptions) => UseSSEReturn {
  return function useSSE(base, options) {
    const [client] = hooks.useState(() => new StudioClient(base, options));
    const state = hooks.useSyncExternalStore(client.subscribe, client.getState, client.getState);
    hooks.useEffect(() => () => client.leave(), [client]);
    const [actions] = hooks.useState(() => ({
      send: (input: string) => client.send(input),
      answer: (answers: Answer[]) => client.answer(answers),
      seek: (index: number) => client.seek(index),
      cancel: () => client.leave(),
    }));
    return { ...state, ...actions };
  };
}
