/** One conversation, of assistant-ui's primitives. */
import { useEffect } from 'react';
import { ActionBarPrimitive, AttachmentPrimitive, AuiIf, ComposerPrimitive, ErrorPrimitive, MessagePrimitive, ThreadPrimitive, useAuiState } from '@assistant-ui/react';
import { useAISDKChat } from '@assistant-ui/react-ai-sdk';
import { ATTACHMENTS, PARTS } from './parts';

export function Thread() {
  useResume();
  return (
    <ThreadPrimitive.Root asChild>
      <main>
        <ThreadPrimitive.Viewport className="messages">
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        </ThreadPrimitive.Viewport>
        <Composer />
      </main>
    </ThreadPrimitive.Root>
  );
}

/** Once the history is there, go on with an answer that is being written. */
function useResume() {
  const isLoading = useAuiState(({ thread }) => thread.isLoading);
  const chat = useAISDKChat();
  const id = chat?.id;
  useEffect(() => {
    if (!isLoading && chat?.status === 'ready') void chat.resumeStream();
  }, [id, isLoading]);
}

function UserMessage() {
  return (
    <MessagePrimitive.Root data-role="user">
      <MessagePrimitive.Attachments components={ATTACHMENTS} />
      <MessagePrimitive.Parts />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root data-role="assistant">
      <MessagePrimitive.Parts components={PARTS} />
      <MessagePrimitive.Error><ErrorPrimitive.Root role="alert"><ErrorPrimitive.Message /></ErrorPrimitive.Root></MessagePrimitive.Error>
      <ActionBarPrimitive.Root hideWhenRunning className="actions">
        <ActionBarPrimitive.FeedbackPositive>Good answer</ActionBarPrimitive.FeedbackPositive>
        <ActionBarPrimitive.FeedbackNegative>Bad answer</ActionBarPrimitive.FeedbackNegative>
        <ActionBarPrimitive.Reload>Answer again</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

function Composer() {
  return (
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Attachments components={{ Attachment }} />
      <ComposerPrimitive.Input aria-label="Message" placeholder="help" autoFocus className="text" />
      <ComposerPrimitive.AddAttachment>Files</ComposerPrimitive.AddAttachment>
      <AuiIf condition={({ thread }) => thread.isRunning}><ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel></AuiIf>
      <AuiIf condition={({ thread }) => !thread.isRunning}><ComposerPrimitive.Send>Send</ComposerPrimitive.Send></AuiIf>
    </ComposerPrimitive.Root>
  );
}

function Attachment() {
  return <AttachmentPrimitive.Root className="attachment"><AttachmentPrimitive.Name /> <AttachmentPrimitive.Remove aria-label="Remove">×</AttachmentPrimitive.Remove></AttachmentPrimitive.Root>;
}
