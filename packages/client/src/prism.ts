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

/** What `message.metadata` holds; all but `runId` and `createdAt` comes with the message's end. */
export type PrismMetadata = {
  /** The run that wrote the message last: its id in `/api/runs/{run}`. */
  runId: string;
  /** The message was read from an ADK session or a capture, and not recorded while it ran: streamed fragments and the times of agents and tools are not known. */
  derived?: boolean;
  /** When the message began, in milliseconds since 1970 (`new Date(createdAt)`), by the log's clock; there from the first chunk on, too. A user's message has it in the history. */
  createdAt?: number;
  /** Tokens, summed over the run's model calls, and each call's own counts. */
  usage?: PrismUsage;
  /** The model that answered last, as it names itself. */
  modelVersion?: string;
  /** Why it stopped, in upstream's word. */
  adkFinishReason?: string;
  /** Why it stopped, in a sentence of the model's provider. */
  finishMessage?: string;
  /** Sources, as a list (`sources`) and as upstream gives them, and which spans of the text rest on them. */
  grounding?: PrismGrounding;
  /** Passages that are quoted from somewhere. */
  citations?: PrismCitation[];
  /** The context cache: how many model calls found something in it (`hits`) or nothing (`misses`), and what ADK said of it last. */
  cache?: PrismCache;
  /** Average log probability of the answer's tokens. */
  avgLogprobs?: number;
  /** Log probabilities, token by token. */
  logprobs?: PrismLogprobs;
  /** The app's own metadata (`custom_metadata`). */
  custom?: { [key: string]: JsonValue };
  /** How much raw sound was sent; `duration` in seconds. */
  audio?: { chunks: number; bytes: number; sampleRate: number; duration: number };
  /** The user cut the speaker off; in live runs only. */
  interrupted?: boolean;
  /** Why the message breaks off: its run failed. For a page that is loaded later. */
  failure?: string;
};

/** What the parts `data-<name>` hold, by name. */
export type PrismDataParts = {
  /** Session state that an agent or tool changed: the changed keys with their new values. */
  'state': { [key: string]: JsonValue };
  /** An artifact was saved under this name as this version; a server adds the URL of its content. */
  'artifact': { filename: string; version: number; url?: string };
  /** The conversation continues with another agent. */
  'transfer': { to: string; reason?: string };
  /** What a node of a workflow returned; `path` says which node. */
  'output': { author: string; path: string; output: JsonValue };
  /** This call's answer may come much later, or from the client. In the history, `status` marks a call that the client has answered. */
  'long-running': { toolCallId: string; toolName: string; status?: 'answered' };
  /** How far a tool is whose call the client may answer, and in dialect 5 any tool; for the others it is a preliminary output. */
  'progress': { toolCallId: string; toolName: string; done?: number; total?: number; message?: string; data?: JsonValue };
  /** What the tool shows before an approval, and asks for; beside `tool-approval-request`. `payload` is a sample of the answer, `schema` the JSON schema read from it. In the history, `status` marks a request without an answer. */
  'approval': { approvalId: string; toolCallId: string; hint?: string; payload?: JsonValue; schema?: JsonValue; status?: 'expired' };
  /** In dialect 5, and in a live run in dialect 6: a person is asked (`requested`), and has `approved` or `denied`. The other dialects use the AI SDK's own approval chunks. Answer with `data-approval-response`. */
  'approval-request': { approvalId: string; toolCallId: string; state: string; reason?: string };
  /** In a live run: tokens of a message, sent after its end. Transient. */
  'usage': { messageId: string; usage: PrismUsage };
  /** A workflow asks the person something. Answer with `data-input-response`. */
  'input-request': { id: string; request: JsonValue; status?: 'answered' | 'expired' };
  /** A tool needs the person to sign in. Answer with `data-credential-response`. */
  'credential-request': { id: string; toolCallId?: string; request: JsonValue; status?: 'answered' | 'expired' };
  /** The proof of a specialist's answer, when it answers, and of the whole answer, at its end: confidence, citations, reasoning, each with the run's entry (`cursor`) it came from. Its id is the specialist's; that of the whole is `proof`. Sent only if there is any. */
  'proof': PrismProof;
  /** Code that the model wrote to be run. */
  'executable-code': { code?: string; language?: string; id?: string };
  /** The result of that code. */
  'code-execution-result': { outcome?: string; output?: string; id?: string };
  /** A file without a link (`gs://…`, in a replay without a server). */
  'file-reference': { uri: string; mediaType: string; filename?: string };
  /** A chunk of raw audio, base64. Transient. */
  'pcm': { content: string; sampleRate: number; channels: number; bitDepth: number };
  /** The transcript of what the user has said so far. */
  'input-transcription': { text: string; final: boolean };
  /** Another process continues the run. `superseded`: ids of text and reasoning blocks that are sent again; `inDoubt`: calls that may have run twice. */
  'prism-takeover': { epoch: number; superseded: string[]; inDoubt?: string[] };
  /** This message replaces these messages of the user and the assistant, oldest first, and everything after them. The log keeps their runs. */
  'rewound': { messageIds: string[] };
  /** Something of the request was ignored: its tools (`tools-ignored`), or its system message (`system-ignored`). */
  'warning': { code: string; message: string };
  /** ADK stored other text than these text and reasoning blocks: hide them; the stored text follows. A part that was still open is marked (`providerMetadata.prism.replaced`); one that had ended has its block's id in `providerMetadata.prism.block`. Dialect 7 removes the parts instead (`reset-step`), unless their step contains a call that was made. */
  'prism-replaced': { blocks: string[] };
  /** The speaker was interrupted. */
  'interrupted': { author: string };
  /** A node or agent failed; the run may have survived it. */
  'error': { code: string; author: string; path: string; message?: string };
  /** Data that this version of adk-prism does not know, unchanged. */
  'unrecognised': { kind: string; raw: JsonValue };
  /** Sent by the client: the answer to `data-input-request`. */
  'input-response': { id: string; response: JsonValue };
  /** Sent by the client: the answer to `data-credential-request`. In the history without `response`, which is a secret. */
  'credential-response': { id: string; response?: JsonValue };
  /** Sent by the client: what a tool wants with an approval, in the shape of `data-approval`'s `schema`. Beside the answered approval in the assistant's message; or in a message of the user's, where it is the approval. */
  'confirmation-response': { approvalId: string; payload: JsonValue };
  /** Sent by the client in dialect 5, in the assistant's message: the answer to `data-approval-request`. */
  'approval-response': { approvalId: string; approved: boolean; reason?: string };
};

/** A message of a chat with adk-prism; name your tools to have their parts typed as well. */
export type PrismUIMessage<TOOLS extends UITools = UITools> =
  UIMessage<PrismMetadata, PrismDataParts, TOOLS>;
