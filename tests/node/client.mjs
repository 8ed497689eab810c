// What the SDK's own client makes of a stream: its reader, its chat, its validators, and the
// helpers with which stock front ends decide to post again by themselves.
import { makeChat } from './sdk.mjs';

const API = 'http://judge.invalid/api/chat';

/** Read `chunks` with `readUIMessageStream`; return the errors that it reports. */
export async function readerErrors(ai, chunks, prior) {
  const errors = [];
  const stream = ReadableStream.from(structuredClone(chunks));
  const options = { stream, onError: error => errors.push(error) };
  const messages = ai.readUIMessageStream({ ...options, message: structuredClone(prior) });
  for await (const message of messages) void message;
  return errors;
}

/**
 * Give the stream to a chat as the answer to its request: a user message, or the continuation
 * of `prior`. `reposts` names the helper that would have made it post again at once.
 */
export async function chatOver(ai, text, prior) {
  const seen = { error: undefined, reposts: null };
  const user = { id: 'user-1', role: 'user', parts: [{ type: 'text', text: 'hello' }] };
  const chat = makeChat(ai, {
    id: 'judge',
    messages: prior ? [user, structuredClone(prior)] : [],
    transport: new ai.DefaultChatTransport({ api: API, fetch: async () => new Response(text) }),
    onError: error => { seen.error = error; },
    // Asked at the end of the response; "no" keeps the chat from really posting.
    sendAutomaticallyWhen: ({ messages }) => {
      seen.reposts = satisfied(ai, messages);
      return false;
    },
  });
  await (prior ? chat.sendMessage() : chat.sendMessage({ text: 'hello' }));
  const assistants = chat.messages.filter(({ role }) => role === 'assistant');
  return { ...seen, status: chat.status, assistants };
}

/** The stock helper that is satisfied with `messages`, or null. */
export function satisfied(ai, messages) {
  const helpers = [
    'lastAssistantMessageIsCompleteWithToolCalls',
    'lastAssistantMessageIsCompleteWithApprovalResponses',
  ];
  return helpers.find(name => ai[name]?.({ messages })) ?? null; // ai 5 knows no approvals
}

/** Say why the SDK's server side would refuse `message` in the next request, or null. */
export async function refusal(sdk, message) {
  const messages = [acceptableTo(sdk, JSON.parse(JSON.stringify(message)))];
  const result = await sdk.ai.safeValidateUIMessages?.({ messages }); // not in 5.0.0
  if (result && !result.success) return `safeValidateUIMessages: ${result.error.message.slice(0, 600)}`;
  try {
    // 5.0.0 converts no message whose calls wait for an answer, unless it is told to leave them out.
    await sdk.ai.convertToModelMessages(messages, { ignoreIncompleteToolCalls: sdk.version === '5.0.0' });
  } catch (error) {
    return `convertToModelMessages: ${error.message}`;
  }
  return null;
}

// 6.0.0 files the input of a refused call under `rawInput` and then misses `input` in its own
// validator; later releases do not. Its chat shows the message all the same.
function acceptableTo({ version }, message) {
  if (version !== '6.0.0') return message;
  const mend = part => ('rawInput' in part && !('input' in part) ? { ...part, input: null } : part);
  return { ...message, parts: message.parts.map(mend) };
}
