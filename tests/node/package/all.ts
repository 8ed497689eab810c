// The entry points that need more than the AI SDK, compiled as a user's program.
import { PrismAgent } from '@adk-prism/client/ag-ui';
import { prismFeedback, prismHistory, prismThreadList } from '@adk-prism/client/assistant-ui';
import { Live, useLive, type LiveState } from '@adk-prism/client/live';
import { filmAt, loadGraph, useFilm, useStudio } from '@adk-prism/client/react';
import { useRemoteThreadListRuntime, type AssistantRuntime } from '@assistant-ui/react';

const connection = { server: '', app: 'tour' };

export const agent = new PrismAgent({ ...connection, threadId: 't' });
export const runtime = (runtimeHook: () => AssistantRuntime) => useRemoteThreadListRuntime({ adapter: prismThreadList(connection), runtimeHook });
export const adapters = { history: prismHistory(connection, () => 'chat'), feedback: prismFeedback(connection) };

export function Panel(): string {
  const { text, snapshots, send } = useStudio(connection);
  const { film } = useFilm(connection, 'run-1');
  const live = useLive({ ...connection, chatId: 'chat' });
  const nodes: number | undefined = film ? filmAt(film, 3).items.nodes.length : undefined;
  void send(text);
  live.start();
  return `${snapshots.length} ${nodes} ${live.isSpeaking}`;
}

export const state: LiveState = new Live({ ...connection, chatId: 'chat' }).getState();
export const graph = loadGraph(connection);
