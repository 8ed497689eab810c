// Types of what adk-prism sends besides text and tools. Written by `adk-prism types`.
//
//   import type { PrismUIMessage } from './prism';
//   const { messages } = useChat<PrismUIMessage>({ … });
import type { UIMessage, UITools } from 'ai';

export type JsonValue =
  null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

export type PrismTokenDetails = { modality?: string; tokenCount?: number }[];

/** One model call's own counts, as the model's provider gave them. */
export type PrismModelCall = {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  totalTokenCount?: number;
  thoughtsTokenCount?: number;
  cachedContentTokenCount?: number;
  toolUsePromptTokenCount?: number;
  promptTokensDetails?: PrismTokenDetails;
  candidatesTokensDetails?: PrismTokenDetails;
  cacheTokensDetails?: PrismTokenDetails;
  toolUsePromptTokensDetails?: PrismTokenDetails;
  trafficType?: string;
};

export type PrismUsage = {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
  modelCalls?: PrismModelCall[];
  /** What the run cost, where its models have a price; in which currency, by prices of which day. */
  cost?: number;
  currency?: string;
  pricesAsOf?: string;
};

export type PrismGroundingChunk = {
  web?: { uri?: string; title?: string; domain?: string };
  image?: { sourceUri?: string; imageUri?: string; title?: string; domain?: string };
  maps?: {
    uri?: string;
    title?: string;
    text?: string;
    placeId?: string;
    placeAnswerSources?: JsonValue;
    route?: JsonValue;
  };
  retrievedContext?: {
    uri?: string;
    title?: string;
    text?: string;
    documentName?: string;
    pageNumber?: number;
    fileSearchStore?: string;
    mediaId?: string;
    ragChunk?: JsonValue;
    customMetadata?: JsonValue[];
  };
};

/** A span of the text, and the chunks (by index) that it rests on. */
export type PrismGroundingSupport = {
  segment?: { startIndex?: number; endIndex?: number; partIndex?: number; text?: string };
  groundingChunkIndices?: number[];
  confidenceScores?: number[];
  renderedParts?: number[];
};

export type PrismGrounding = {
  /** Each source once, in the order of first sight; `uri` is empty for a document without an address. */
  sources?: { uri: string; title: string }[];
  groundingChunks?: PrismGroundingChunk[];
  groundingSupports?: PrismGroundingSupport[];
  webSearchQueries?: string[];
  imageSearchQueries?: string[];
  retrievalQueries?: string[];
  searchEntryPoint?: { renderedContent?: string; sdkBlob?: string };
  retrievalMetadata?: { googleSearchDynamicRetrievalScore?: number };
  googleMapsWidgetContextToken?: string;
  sourceFlaggingUris?: { sourceId?: string; flagContentUri?: string }[];
};

export type PrismCitation = {
  startIndex?: number;
  endIndex?: number;
  uri?: string;
  title?: string;
  license?: string;
  publicationDate?: { year?: number; month?: number; day?: number };
};

/** ADK writes its own keys with underscores. They are not there where only the provider caches. */
export type PrismCache = {
  hits: number;
  misses: number;
  fingerprint?: string;
  contents_count?: number;
  cache_name?: string;
  created_at?: number;
  expire_time?: number;
  invocations_used?: number;
};

export type PrismLogprob = { token?: string; tokenId?: number; logProbability?: number };

export type PrismLogprobs = {
  chosenCandidates?: PrismLogprob[];
  topCandidates?: { candidates?: PrismLogprob[] }[];
  logProbabilitySum?: number;
};

/** Given as data by a tool, read from text, or not given at all. */
export type PrismProofOrigin = 'computed' | 'parsed' | 'absent';

export type PrismConfidenceLevel = 'very high' | 'high' | 'medium' | 'low' | 'very low';

/** The proof of an answer. A `cursor` names the run's entry that a piece came from. */
export type PrismProof = {
  subject: {
    kind: 'specialist' | 'tool' | 'answer';
    name: string;
    /** Ids of the tool calls that it answered. */
    calls?: string[];
    path?: string;
  };
  origin: PrismProofOrigin;
  /** 0 to 1; null where no number was given. There is no default. */
  confidence: number | null;
  /** How that number came about. */
  derivation: string;
  level?: PrismConfidenceLevel;
  /** Every statement of confidence, and what it belongs to. */
  readings: {
    value: number | null;
    text: string;
    origin: PrismProofOrigin;
    cursor: number;
    level?: PrismConfidenceLevel;
    low?: number;
    high?: number;
    bound?: 'about' | 'at least' | 'at most';
    overall?: boolean;
    about?: string;
    section?: string;
    reason?: string;
    /** Of one part of what a tool found, which gave a number for all of it as well. */
    part?: boolean;
  }[];
  citations: {
    source: string;
    origin: PrismProofOrigin;
    cursor: number;
    reference?: string;
    uri?: string;
    excerpt?: string;
    hash?: string;
    label?: string;
    section?: string;
    /** In the proof of the whole: the specialist who cited it first. */
    by?: string;
    /** In the proof of the whole: every specialist who cited it. */
    used_by?: string[];
    details?: { [key: string]: JsonValue };
  }[];
  reasoning_chain: {
    text: string;
    kind: 'stated' | 'call' | 'answer';
    cursor: number;
    origin: PrismProofOrigin;
    call?: string;
  }[];
  factors?: {
    name: string;
    cursor: number;
    value?: JsonValue;
    effect?: JsonValue;
    why?: string;
    by?: string;
  }[];
  /** Text that seems to state something, and could not be read. */
  unread?: { text: string; reason: string; cursor: number }[];
  /** Numbers in the text that are not those they should rest on. */
  disagreements?: {
    stated: number;
    relation: 'higher' | 'within' | 'lower' | "nobody's";
    text: string;
    about?: string;
    low?: number;
    high?: number;
  }[];
  /** Claims of the whole answer that have no citation. */
  uncited?: { text: string; section?: string }[];
  /** In the proof of the whole: on whom it rests. */
  specialists?: {
    name: string;
    origin: PrismProofOrigin;
    confidence: number | null;
    level?: PrismConfidenceLevel;
  }[];
  /** Pieces left out for their number. */
  omitted?: number;
};
