/** A message with a person's answer in it, as the server is to get it; and without one that it did not take. */
import { readUIMessageStream, type UIMessageChunk } from 'ai';
import { isTool, type Message, type Part } from './message';

/** What came of a call. */
export type Given = { state: 'output-available'; output: unknown } | { state: 'output-error'; errorText: string };

/** Give a call its result, and note that a client did. */
export function answerCall(message: Message, call: string, given: Given): Message {
  const parts = message.parts.map((part): Part => {
    if (isTool(part) && part.toolCallId === call)
      return { ...part, output: undefined, errorText: undefined, ...given } as Part;
    if (part.type === 'data-long-running' && part.data.toolCallId === call)
      return { ...part, data: { ...part.data, status: 'answered' } };
    return part;
  });
  return { ...message, parts };
}

/** Put what a tool wants with its approval beside the call, in the message that asks for it. */
export function attachPayload(message: Message, approval: string, payload: unknown): Message {
  if (!message.parts.some((part) => isTool(part) && part.approval?.id === approval)) return message;
  const others = message.parts.filter(
    (part) => part.type !== 'data-confirmation-response' || part.data.approvalId !== approval,
  );
  return {
    ...message,
    parts: [
      ...others,
      { type: 'data-confirmation-response', data: { approvalId: approval, payload: payload as never } },
    ],
  };
}

/** Return what is given with approvals that the server has not taken yet, by approval. */
export function payloadsOf(message: Message): ReadonlyMap<string, unknown> {
  const undecided = new Set(
    message.parts.flatMap((part) => (isTool(part) && part.state === 'approval-responded' ? [part.approval.id] : [])),
  );
  return new Map(
    message.parts.flatMap((part) =>
      part.type === 'data-confirmation-response' && undecided.has(part.data.approvalId)
        ? [[part.data.approvalId, part.data.payload] as const]
        : [],
    ),
  );
}

/** Return what a message answers that the server has not taken: its approvals, and the calls that a client ran. */
export function answeredIds(message: Message): string[] {
  const ran = new Set(
    message.parts.flatMap((part) => (part.type === 'data-long-running' ? [part.data.toolCallId] : [])),
  );
  return message.parts.flatMap((part) => {
    if (!isTool(part)) return [];
    if (part.state === 'approval-responded') return [part.approval.id];
    return ran.has(part.toolCallId) && part.state.startsWith('output') ? [part.toolCallId] : [];
  });
}

/** Ask anew for the approvals whose payloads the server has not taken. */
export function askAgain(message: Message): Message {
  const refused = payloadsOf(message);
  const parts = message.parts.flatMap((part): Part[] => {
    if (part.type === 'data-confirmation-response' && refused.has(part.data.approvalId)) return [];
    if (!isTool(part) || part.state !== 'approval-responded' || !refused.has(part.approval.id)) return [part];
    const { approved: _, reason: __, ...approval } = part.approval;
    return [{ ...part, state: 'approval-requested', approval } as Part];
  });
  return { ...message, parts };
}

/** Return the states of a message that a stream goes on with; throw where the stream fails. */
export function grow(message: Message, stream: ReadableStream<UIMessageChunk>): AsyncIterable<Message> {
  return readUIMessageStream<Message>({ message, stream, terminateOnError: true });
}
