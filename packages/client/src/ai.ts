/** For the AI SDK (`ai` 6 and 7). */
export * from './index.ts';
export { loadMessages, loadVersion } from './messages.ts';
export * from './prism.ts';
export { sendBody } from './sendBody.ts';
export { standing } from './standing.ts';
export { PrismChatTransport, type Dialect, type TransportOptions } from './transport.ts';
