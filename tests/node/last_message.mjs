// What the README tells apps to give to their transport, word for word (a test compares them).
const options = {
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
    body: { ...body, id, trigger, messageId, messages: messages.slice(-2) },
  }),
};
export const { prepareSendMessagesRequest } = options;
