/** One part of a message: text, a tool call with its approval, a file, a source. */
import { getToolName, isToolUIPart } from 'ai';
import type { PrismUIMessage } from '@adk-prism/client/ai';

type Props = { part: PrismUIMessage['parts'][number]; decide: (approval: string, approved: boolean) => void };

export function PartView({ part, decide }: Props) {
  if (part.type === 'text') return <>{part.text}</>;
  if (part.type === 'reasoning') return <details><summary>Reasoning</summary>{part.text}</details>;
  if (part.type === 'source-url') return <p>Source: <a href={part.url}>{part.title ?? part.url}</a></p>;
  if (part.type === 'file') return part.mediaType.startsWith('image/') ? <img src={part.url} alt={part.filename ?? ''} /> : <a href={part.url}>{part.filename ?? 'file'}</a>;
  if (!isToolUIPart(part)) return null;
  if (part.state === 'approval-requested') {
    return (
      <fieldset>
        <legend>Allow {getToolName(part)} to run?</legend>
        <pre>{JSON.stringify(part.input, null, 2)}</pre>
        <button onClick={() => decide(part.approval.id, true)}>Allow</button> <button onClick={() => decide(part.approval.id, false)}>Deny</button>
      </fieldset>
    );
  }
  return (
    <details>
      <summary>{getToolName(part)}: {part.state}</summary>
      <pre>{JSON.stringify(part.output ?? part.errorText ?? part.input, null, 2)}</pre>
    </details>
  );
}
