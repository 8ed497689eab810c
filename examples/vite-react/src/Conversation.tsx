/** One chat: its messages, and a line to write on. */
import { useState } from 'react';
import { Chat, useChat } from '@ai-sdk/react';
import { sendWhenAnswered, standing, type PrismUIMessage } from '@adk-prism/client/ai';
import { PartView } from './PartView';
import { transport } from './prism';

type Props = { id: string; messages: PrismUIMessage[]; onFinish: () => void };

export function Conversation({ id, messages: before, onFinish }: Props) {
  // A chat of our own: one that `useChat` makes is stopped when the component goes away, and the run with it.
  const [own] = useState(() => {
    const chat: Chat<PrismUIMessage> = new Chat<PrismUIMessage>({
      id,
      messages: before,
      transport,
      sendAutomaticallyWhen: sendWhenAnswered,
      onFinish,
      // A tool that the browser runs. The others are the server's.
      onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
        if (toolName === 'get_location') void chat.addToolOutput({ tool: toolName, toolCallId, output: { city: 'Lisbon' } });
      },
    });
    return chat;
  });
  const { messages, status, error, sendMessage, stop, addToolApprovalResponse } = useChat({ chat: own, resume: true });
  const isBusy = status === 'submitted' || status === 'streaming';

  function send(form: HTMLFormElement) {
    if (isBusy) return; // Enter while an answer is written: the text stays until it can be sent
    const text = String(new FormData(form).get('text'));
    const { files } = form.elements.namedItem('files') as HTMLInputElement;
    if (text.trim()) void sendMessage({ text, ...(files?.length && { files }) });
    form.reset();
  }

  return (
    <>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {standing(message).map((part, index) => (
            <PartView key={index} part={part} decide={(approval, approved) => void addToolApprovalResponse({ id: approval, approved })} />
          ))}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={(event) => (event.preventDefault(), send(event.currentTarget))}>
        <input name="text" aria-label="Message" placeholder="help" autoFocus />
        <input name="files" type="file" aria-label="Files" multiple />
        {isBusy ? <button type="button" onClick={() => void stop()}>Stop</button> : <button>Send</button>}
      </form>
    </>
  );
}
