/**
 * The film as the server writes it (`features/page/film.py`): items that are there from a cursor on, and marks of what
 * became of them later. Nothing that was written ever changes; a document `after` a cursor is growth.
 */

/** The newest version that can be read. */
export const VERSION = 1;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A cursor, and what is new from there on. */
export type Mark<News> = readonly [cursor: number, news: News];

export type Item<About, News = never> = {
  readonly index: number;
  readonly since: number;
  readonly is: About;
  readonly marks: readonly Mark<News>[];
};

export type Growth = {
  readonly index: number;
  readonly since?: number;
  readonly is?: unknown;
  readonly marks: readonly Mark<unknown>[];
};

export type NodeKind = 'agent' | 'tool' | 'workflow' | 'function' | 'join' | 'node';
export type Tokens = { input?: number; output?: number; reasoning?: number; total?: number };

export type NodeAbout = {
  node: string;
  name: string;
  kind: NodeKind;
  path: string;
  lane: string;
  call: string;
  parent: string;
  depth: number;
  step: number;
  iteration: number;
  derived: boolean;
  /** Microseconds since the run's start, as all times here. */
  start: number;
};
/** The cost is absent without a price list, and null if the model has no price in it. */
export type NodeNews =
  | { tokens: CallTokens; cost?: number | null }
  | { output: Json }
  | { status: string; end: number; derived: boolean; error?: string };

export type WaitAbout = { kind: string; call: string; start: number };
export type WaitNews = { end: number };

/** A call of a model. It is written when it is over. */
export type CallAbout = {
  agent: string;
  node: string;
  model: string;
  start: number;
  firstTokenMs: number | null;
  durationMs: number;
  tokens: CallTokens;
  finish: string;
  error: string;
  /** Absent without a price list; null if the model has no price in it. */
  cost?: number | null;
  /** Its request and response can be asked for. */
  kept: boolean;
};
/** Tokens by kind; those that are cached are part of the input. */
export type CallTokens = Tokens & { cached?: number; tool?: number };

export type KeyAbout = { key: string };
/** Without a value: the key is gone. */
export type KeyNews = { writer: string; value?: Json };

export type TextKind = 'text' | 'reasoning' | 'transcript';
/** `node`: the run of a node that said it. */
export type SaidAbout = { kind: string; speaker?: string; node?: string; [more: string]: Json | undefined };
/**
 * A piece of text; null: the text is complete; a number: complete without so many characters at its end; an object:
 * what became of a call, or that a text was replaced.
 */
export type SaidNews = string | null | number | { [key: string]: Json };

export type ProofAbout = { id: string };
export type SourceAbout = { source: string; title: string; uri: string };
export type ClassAbout = { id: string };
/** A receipt of a search, and why it cannot be read, if it cannot. */
export type ReceiptAbout = { number: number; receipt: Json; why?: string };
export type ReceiptNews = { gone: true };

/** A version of an artifact that an event says was saved. */
export type ArtifactAbout = { name: string; version: number; author: string; part: string };

export type Items = {
  nodes: readonly Item<NodeAbout, NodeNews>[];
  waits: readonly Item<WaitAbout, WaitNews>[];
  /** Absent in a run without them. */
  calls?: readonly Item<CallAbout>[];
  keys: readonly Item<KeyAbout, KeyNews>[];
  said: readonly Item<SaidAbout, SaidNews>[];
  proofs: readonly Item<ProofAbout, Proof>[];
  sources: readonly Item<SourceAbout>[];
  classes: readonly Item<ClassAbout, number>[];
  receipts: readonly Item<ReceiptAbout, ReceiptNews>[];
  /** Absent in a run without them. */
  artifacts?: readonly Item<ArtifactAbout>[];
  /** Why a key of the grounding box cannot be read; empty from where it can. */
  faults: readonly Item<KeyAbout, string>[];
};

export type Agent = { name: string; model?: string; tools?: number };
export type Outcome = 'finished' | 'failed' | 'cancelled' | 'waiting' | 'incomplete';
export type Ended = { cursor: number; outcome: Outcome; code: string; completion: number | null };

type Header = {
  version: number;
  after: number;
  last: number;
  run: string;
  app: string;
  user: string;
  session: string;
  captured: boolean;
  uploaded: boolean;
  agents: Agent[];
  start: number | null;
  ended: Ended | null;
  times: readonly number[];
};

export type Document = Header & { items: Items };
export type DocumentGrowth = Header & { items: { [kind in keyof Items]: readonly Growth[] } };

/** What stands behind an answer (`features/proof/model.py`). Every piece names the entry that it came from. */
export type ProofOrigin = 'computed' | 'parsed' | 'absent';
export type Reading = {
  value: number | null;
  text: string;
  origin: ProofOrigin;
  cursor: number;
  level?: string;
  low?: number;
  high?: number;
  bound?: string;
  overall?: boolean;
  about?: string;
  section?: string;
  reason?: string;
  part?: boolean;
};
export type Citation = {
  source: string;
  origin: ProofOrigin;
  cursor: number;
  reference?: string;
  uri?: string;
  excerpt?: string;
  hash?: string;
  label?: string;
  section?: string;
  by?: string;
  used_by?: string[];
  details?: { [key: string]: Json };
};
export type Factor = { name: string; cursor: number; value?: Json; effect?: Json; why?: string; by?: string };
export type Step = {
  text: string;
  kind: 'stated' | 'call' | 'answer';
  cursor: number;
  origin: ProofOrigin;
  call?: string;
};
export type Unread = { text: string; reason: string; cursor: number };
export type Claim = { text: string; section?: string };
export type Disagreement = {
  stated: number;
  relation: string;
  text: string;
  about?: string;
  low?: number;
  high?: number;
};
export type Brief = { name: string; origin: ProofOrigin; confidence: number | null; level?: string };
export type Proof = {
  subject?: { kind: 'specialist' | 'tool' | 'answer'; name: string; calls?: string[]; path?: string };
  origin: ProofOrigin;
  confidence: number | null;
  derivation: string;
  readings: Reading[];
  citations: Citation[];
  reasoning_chain: Step[];
  level?: string;
  factors?: Factor[];
  unread?: Unread[];
  disagreements?: Disagreement[];
  uncited?: Claim[];
  specialists?: Brief[];
  omitted?: number;
};
