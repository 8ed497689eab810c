'use client';
/** A chat: its messages, and a box to write in. */
import { useState } from 'react';
import { useRouter } from 'next/navigation';
import { Chat, useChat } from '@ai-sdk/react';
import { PrismChatTransport, sendWhenAnswered, standing, type PrismUIMessage } from '@adk-prism/client/ai';
import { MessageView } from './MessageView';
import { PromptInput } from './PromptInput';

type Props = { app: string; id: string; messages: PrismUIMessage[] };

export function Conversation({ app, id, messages: before }: Props) {
  const router = useRouter();
  // A chat of our own: one that `useChat` makes is stopped when the component goes away, and the run with it.
  const [own] = useState(() => {
    const chat: Chat<PrismUIMessage> = new Chat<PrismUIMessage>({
      id,
      messages: before,
      transport: new PrismChatTransport({ server: '/prism', app }),
      sendAutomaticallyWhen: sendWhenAnswered,
      onFinish: () => router.refresh(), // the list of conversations
      // A tool that the browser runs. The others are the server's.
      onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
        if (toolName === 'get_location') void chat.addToolOutput({ tool: toolName, toolCallId, output: { city: 'Lisbon' } });
      },
    });
    return chat;
  });
  const { messages, status, error, sendMessage, stop, addToolApprovalResponse } = useChat({ chat: own, resume: true });
  const decide = (approval: string, approved: boolean) => void addToolApprovalResponse({ id: approval, approved });

  return (
    <main className="flex min-w-0 flex-1 flex-col">
      <div role="log" className="flex flex-1 flex-col-reverse overflow-y-auto">
        <div className="mx-auto mb-auto flex w-full max-w-3xl flex-col gap-8 p-6">
          {messages.map((message) => <MessageView key={message.id} role={message.role} parts={standing(message)} decide={decide} />)}
          {status === 'submitted' && <p role="status" className="animate-pulse text-muted-foreground">Working…</p>}
          {error && <p role="alert" className="rounded-md border border-red-300 bg-red-50 px-4 py-2 text-red-700">{error.message}</p>}
        </div>
      </div>
      <PromptInput isBusy={status === 'submitted' || status === 'streaming'} onSend={(message) => void sendMessage(message)} onStop={() => void stop()} />
    </main>
  );
}
