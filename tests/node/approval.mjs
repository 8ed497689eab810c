/** Answer an approval that ai 5 was asked for by a `data-approval-request` part. */
export async function answerApproval(chat, { approvalId, approved, reason }) {
  const last = chat.messages.at(-1);
  const data = { approvalId, approved, reason };
  const answer = { type: 'data-approval-response', id: approvalId, data };
  chat.messages = [...chat.messages.slice(0, -1), { ...last, parts: [...last.parts, answer] }];
  await chat.sendMessage(); // without a message: the request ends with the assistant's own
}
