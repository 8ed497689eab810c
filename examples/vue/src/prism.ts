/** The app on the server, and how the chat talks to it. */
import { PrismChatTransport } from '@adk-prism/client/ai';

export const connection = { server: import.meta.env.VITE_SERVER ?? 'http://127.0.0.1:8000', app: 'tour' };

export const transport = new PrismChatTransport(connection);
