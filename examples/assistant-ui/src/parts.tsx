/** The parts of a message: text, a tool call with its approval, a file, a source. */
import { useAuiState, type FileMessagePartProps, type ReasoningMessagePartProps, type SourceMessagePartProps, type ToolCallMessagePartProps } from '@assistant-ui/react';

function Reasoning({ text }: ReasoningMessagePartProps) {
  return <details><summary>Reasoning</summary>{text}</details>;
}

function Source(source: SourceMessagePartProps) {
  return source.sourceType === 'url' ? <p>Source: <a href={source.url}>{source.title ?? source.url}</a></p> : null;
}

function File({ data, mimeType, filename }: FileMessagePartProps) {
  return mimeType.startsWith('image/') ? <img src={data} alt={filename ?? ''} /> : <a href={data}>{filename ?? 'file'}</a>;
}

function ToolCall({ toolName, args, result, approval, respondToApproval }: ToolCallMessagePartProps) {
  if (approval && approval.approved === undefined && result === undefined) {
    return (
      <fieldset>
        <legend>Allow {toolName} to run?</legend>
        <pre>{JSON.stringify(args, null, 2)}</pre>
        <button onClick={() => void respondToApproval({ approved: true })}>Allow</button> <button onClick={() => void respondToApproval({ approved: false })}>Deny</button>
      </fieldset>
    );
  }
  return <details><summary>{toolName}: {result === undefined ? 'running' : 'done'}</summary><pre>{JSON.stringify(result ?? args, null, 2)}</pre></details>;
}

export const PARTS = { Reasoning, Source, File, tools: { Fallback: ToolCall } };

function Attachment() {
  const attachment = useAuiState(({ attachment }) => attachment);
  const picture = attachment.content?.find((part) => part.type === 'image');
  return picture ? <img src={picture.image} alt={attachment.name} /> : <p>{attachment.name}</p>;
}

export const ATTACHMENTS = { Attachment };
