/** What a chat posts: the message in question, and where it belongs. */

type Message = { id: string; role: string };

type Sent = {
  chatId: string;
  trigger: string;
  messageId: string | undefined;
  messages: readonly Message[];
};

/**
 * Return the body of a request. The server has the history: of it only the message that is sent counts, and which one
 * is before it. An answer to an earlier message (an approval, the result of a tool) sends that message.
 *
 * `shown` is the last message that the page has shown. If the list lacks it, the page branches off on purpose, and the
 * body says so (`parentId`). Else the server refuses the message where the chat has others that the page does not know.
 */
export function sendBody({ chatId, trigger, messageId, messages }: Sent, shown?: string): Record<string, unknown> {
  const isContinued = (message: Message) => message.id === messageId && message.role === 'assistant';
  const named = trigger === 'submit-message' ? messages.findLastIndex(isContinued) : -1;
  const at = named < 0 ? messages.length - 1 : named;
  const [before, sent] = [messages[at - 1], messages[at]];
  const isBranch = shown !== undefined && sent?.role === 'user' && !messages.some(({ id }) => id === shown);
  const stub = before && { id: before.id, role: before.role, parts: [] };
  return {
    id: chatId,
    trigger,
    messageId,
    messages: [stub, sent].filter(Boolean),
    ...(isBranch && { parentId: before?.id ?? null }),
  };
}
