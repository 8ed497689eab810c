/** The runtime: threads, history and feedback from adk-prism, one `useChat` for each thread. */
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat, useChat } from '@ai-sdk/react';
import { AssistantRuntimeProvider, useAuiState, useRemoteThreadListRuntime } from '@assistant-ui/react';
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { PrismChatTransport, sendWhenAnswered, type PrismUIMessage } from '@adk-prism/client/ai';
import { prismThreadList } from '@adk-prism/client/assistant-ui';
import { Thread } from './Thread';
import { ThreadList } from './ThreadList';

const connection = { server: import.meta.env.VITE_SERVER ?? 'http://127.0.0.1:8000', app: 'tour' };
const adapter = prismThreadList(connection);
const transport = new PrismChatTransport(connection);

function useThreadRuntime() {
  const id = useAuiState(({ threadListItem }) => threadListItem.id);
  // A chat of our own: one that `useChat` makes is stopped when its thread is put away, and the run with it.
  const [own] = useState(() => {
    const chat: Chat<PrismUIMessage> = new Chat<PrismUIMessage>({
      id,
      transport,
      sendAutomaticallyWhen: sendWhenAnswered,
      // A tool that the browser runs. The others are the server's.
      onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
        if (toolName === 'get_location') void chat.addToolOutput({ tool: toolName, toolCallId, output: { city: 'Lisbon' } });
      },
    });
    return chat;
  });
  return useAISDKRuntime(useChat({ chat: own }));
}

function App() {
  const [threadId, setThreadId] = useState<string | undefined>(location.hash.slice(1) || undefined);
  const onThreadIdChange = (id: string | undefined) => {
    history.replaceState(null, '', `#${id ?? ''}`);
    setThreadId(id);
  };
  const runtime = useRemoteThreadListRuntime({ adapter, runtimeHook: useThreadRuntime, threadId, onThreadIdChange });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadList />
      <Thread />
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>);
