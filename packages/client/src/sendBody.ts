/** What a chat posts: the message in question, and where it belongs. */

type Message = { id: string; role: string };

type Sent = {
  chatId: string;
  trigger: string;
  messageId: string | undefined;
  messages: readonly Message[];
};

/**
 * Return the body of a request. The server has the history: of it only the message that is sent counts, and the id of
 * the one before it. An answer to an earlier message (an approval, the result of a tool) sends that message.
 */
export function sendBody({ chatId, trigger, messageId, messages }: Sent): Record<string, unknown> {
  const isContinued = (message: Message) => message.id === messageId && message.role === 'assistant';
  const named = trigger === 'submit-message' ? messages.findLastIndex(isContinued) : -1;
  const at = named < 0 ? messages.length - 1 : named;
  const sent = messages[at];
  return { id: chatId, trigger, messageId, messages: sent ? [sent] : [], parentId: messages[at - 1]?.id };
}
