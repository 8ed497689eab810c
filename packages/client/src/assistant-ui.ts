/** For assistant-ui (`@assistant-ui/react` 0.15): the list of threads, their history, feedback, and suggestions. */
import {
  getExternalStoreMessages,
  useAui,
  type FeedbackAdapter,
  type GenericThreadHistoryAdapter,
  type MessageFormatAdapter,
  type RemoteThreadListAdapter,
  type SuggestionAdapter,
  type ThreadHistoryAdapter,
  type ThreadMessage,
} from '@assistant-ui/react';
import { useMemo } from 'react';
import { deleteChat, listChats, renameChat, type Chat } from './chats.ts';
import type { Connection } from './connection.ts';
import { sendFeedback } from './feedback.ts';
import { loadMessages } from './messages.ts';
import type { PrismUIMessage } from './prism.ts';
import { loadSuggestions } from './suggestions.ts';

type Metadata = Awaited<ReturnType<RemoteThreadListAdapter['fetch']>>;
type Title = Awaited<ReturnType<RemoteThreadListAdapter['generateTitle']>>;
type Chunk = Title extends ReadableStream<infer CHUNK> ? CHUNK : never;

/** Threads that are listed; the server lists no more at once. */
const MOST = 200;
/** Characters of a title that is read from a message, as on the server. */
const LONGEST_TITLE = 120;

/**
 * For `useRemoteThreadListRuntime`: threads are the chats of an app, whose ids the page chooses; the first message
 * makes one.
 * It brings the history and feedback of each thread along.
 */
export function prismThreadList(connection: Connection): RemoteThreadListAdapter {
  const list = async () => (await listChats(connection, { limit: MOST })).map(metadataOf);
  return {
    list: async () => ({ threads: await list() }),
    fetch: async (id) => (await list()).find(({ remoteId }) => remoteId === id) ?? { status: 'regular', remoteId: id },
    initialize: async (threadId) => ({ remoteId: threadId }),
    rename: (id, title) => renameChat(connection, id, title),
    delete: (id) => deleteChat(connection, id),
    archive: noArchive,
    unarchive: noArchive,
    generateTitle: async (id, messages) => {
      const made = await loadSuggestions(connection, id).catch(() => null);
      return textStream(made?.title || titleOf(messages));
    },
    unstable_useAdapters: function usePrismAdapters() {
      const aui = useAui();
      return useMemo(() => {
        const history = prismHistory(
          connection,
          () => aui.threadListItem.getState().remoteId,
          () => aui.threadListItem.initialize(),
        );
        return { history, feedback: prismFeedback(connection) };
      }, [aui]);
    },
  };
}

/**
 * The history of a thread, as the server has it. Nothing is written: the server did so when the message came.
 * `onWritten` is
 * called instead, for a list that has to know that the thread exists now.
 */
export function prismHistory(
  connection: Connection,
  threadId: () => string | undefined,
  onWritten?: () => Promise<unknown>,
): ThreadHistoryAdapter {
  const append = async () => void (await onWritten?.());
  const load = async (): Promise<PrismUIMessage[]> => {
    const id = threadId();
    return id === undefined ? [] : loadMessages(connection, id);
  };
  return {
    load: () =>
      Promise.reject(
        new Error(
          'Messages of adk-prism are those of the AI SDK: use the history with useAISDKRuntime or useChatRuntime.',
        ),
      ),
    append,
    withFormat: <MESSAGE, STORED extends Record<string, unknown>>(
      format: MessageFormatAdapter<MESSAGE, STORED>,
    ): GenericThreadHistoryAdapter<MESSAGE> => ({
      append,
      async load() {
        const messages = await load();
        const stored = messages.map(({ id, ...content }, at) =>
          format.decode({
            id,
            parent_id: messages[at - 1]?.id ?? null,
            format: format.format,
            content: content as unknown as STORED,
          }),
        );
        return { headId: messages.at(-1)?.id ?? null, messages: stored };
      },
    }),
  };
}

/** Thumbs up and down; `onError` is called with the reason if the server refuses one. */
export function prismFeedback(
  connection: Connection,
  onError: (error: unknown) => void = console.error,
): FeedbackAdapter {
  return {
    submit({ message, type, comment }) {
      const [own] = getExternalStoreMessages<PrismUIMessage>(message);
      const runId = own?.metadata?.runId;
      if (!own || !runId) return onError(new Error('This message was not written by a run.'));
      const score = type === 'positive' ? 1 : -1;
      sendFeedback(connection, { runId, messageId: own.id, score, ...(comment && { comment }) }).catch(onError);
    },
  };
}

/**
 * What the person may say next, as the server suggests it: `adapters.suggestion`, or call `generate` and hand the result
 * over as `suggestions`.
 */
export function prismSuggestions(connection: Connection, threadId: () => string | undefined): SuggestionAdapter {
  return {
    async generate({ signal }) {
      const id = threadId();
      const found = id === undefined ? null : await loadSuggestions(connection, id, signal);
      return (found?.suggestions ?? []).map((prompt) => ({ prompt }));
    },
  };
}

function metadataOf({ id, title, updatedAt, pinned }: Chat): Metadata {
  return { status: 'regular', remoteId: id, title, lastMessageAt: new Date(updatedAt), custom: { pinned } };
}

function noArchive(): Promise<void> {
  return Promise.reject(
    new Error('adk-prism has no archive. Delete the conversation; for a while it can be restored.'),
  );
}

function titleOf(messages: readonly ThreadMessage[]): string {
  const parts = messages.find(({ role }) => role === 'user')?.content ?? [];
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  return text.trim().replace(/\s+/g, ' ').slice(0, LONGEST_TITLE);
}

/** Return a text as assistant-ui reads a title. */
function textStream(text: string): Title {
  const chunks: Chunk[] = [
    { path: [], type: 'part-start', part: { type: 'text' } },
    { path: [0], type: 'text-delta', textDelta: text },
    { path: [0], type: 'part-finish' },
  ];
  return new ReadableStream<Chunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}
