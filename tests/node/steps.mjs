// The steps of a scripted conversation: `do` -> what the front end does. chat.mjs has the format.
import { answerApproval } from './approval.mjs';

const optionsOf = ({ headers, body, metadata }) => ({ headers, body, metadata });

/** Name the message before a new one, where a step says which it is. */
const withParent = (conversation, { parent, ...step }) => parent === undefined ? step
  : { ...step, body: { ...step.body, parentId: parent === null ? null : conversation.messageId(parent) } };

async function answerApprovals(conversation, step, approved) {
  if (!conversation.chat.addToolApprovalResponse) return answerBeside(conversation, step, approved);
  const calls = conversation.calls('approval-requested', step.tool);
  const answer = approved ? { approved } : { approved, reason: step.reason };
  for (const { approval } of step.first ? calls.slice(0, 1) : calls) {
    await conversation.chat.addToolApprovalResponse({ id: approval.id, ...answer });
    await conversation.settle();
  }
}

// ai 5 knows no approvals: they are data parts, asked and answered.
async function answerBeside({ chat }, step, approved) {
  const asked = chat.lastMessage.parts.filter(({ type, data }) => type === 'data-approval-request' && data.state === 'requested');
  if (asked.length === 0) throw new Error('no approval is requested');
  for (const { data: { approvalId } } of step.first ? asked.slice(0, 1) : asked) {
    await answerApproval(chat, { approvalId, approved, reason: approved ? undefined : step.reason });
  }
}

export const STEPS = {
  send: (conversation, { text, files, ...step }) => conversation.run(
    () => conversation.chat.sendMessage({ text, files }, optionsOf(withParent(conversation, step))), step),

  edit: (conversation, { message, text, ...step }) => {
    const messageId = conversation.messageId(message);
    const request = () => conversation.chat.sendMessage({ text, messageId }, optionsOf(step));
    return conversation.run(request, step);
  },

  regenerate: (conversation, { message, ...step }) => {
    const messageId = conversation.messageId(message);
    const request = () => conversation.chat.regenerate({ messageId, ...optionsOf(step) });
    return conversation.run(request, step);
  },

  keep: (conversation, { messages }) => {
    conversation.chat.messages = conversation.chat.messages.slice(0, messages);
  },

  continue: (conversation, step) => conversation.run(
    () => conversation.chat.sendMessage(undefined, optionsOf(step)), step),

  approve: (conversation, step) => answerApprovals(conversation, step, true),
  deny: (conversation, step) => answerApprovals(conversation, step, false),

  output: async (conversation, step) => {
    for (const { tool, toolCallId } of conversation.calls('input-available', step.tool)) {
      await conversation.addOutput(tool, toolCallId, step);
      await conversation.settle();
    }
  },

  stop: conversation => conversation.stop(),
  release: conversation => conversation.release(),
  drop: conversation => conversation.drop(),

  fetch: async (conversation, { path, method, body }) => {
    await conversation.fetchRoute(path, { method, body: body && JSON.stringify(body) });
  },

  reload: async conversation => {
    await conversation.stop();
    conversation.enter(await conversation.storedMessages());
  },

  resume: async (conversation, { from = 'server', ...step }) => {
    if (from === 'server') await STEPS.reload(conversation);
    await conversation.run(() => conversation.chat.resumeStream(optionsOf(step)), step);
  },
};
