// Compiled as a user's program, with the packed package: what it exports has the types that its README promises.
import type { ChatInit } from 'ai';
import { listChats, PrismError, type Connection } from '@adk-prism/client';
import { loadMessages, PrismChatTransport, sendWhenAnswered, standing, type PrismUIMessage } from '@adk-prism/client/ai';
import { forward } from '@adk-prism/client/proxy';
import { dataPartSchemas, messageMetadataSchema } from '@adk-prism/client/zod';

type Tools = { get_weather: { input: { city: string }; output: { sky: string } } };
type Message = PrismUIMessage<Tools>;

const connection: Connection = { server: 'http://127.0.0.1:8000', app: 'tour', headers: async () => ({ authorization: 'Bearer x' }) };

export const init: ChatInit<Message> = {
  transport: new PrismChatTransport<Message>({ ...connection, dialect: '6', state: { theme: 'dark' } }),
  sendAutomaticallyWhen: sendWhenAnswered,
  dataPartSchemas,
  messageMetadataSchema,
};

export async function open(chat: string): Promise<string[]> {
  const messages = await loadMessages<Message>(connection, chat);
  const cities = messages.flatMap((message) =>
    standing(message).flatMap((part) => (part.type === 'tool-get_weather' && part.state === 'output-available' ? [part.input.city] : [])),
  );
  // @ts-expect-error an app is needed
  await listChats({ server: '' });
  return [...cities, new PrismError('no', { status: 409, url: '' }).message];
}

export const handle = (request: Request): Promise<Response> => forward(request, { server: connection.server, prefix: '/prism', headers: { 'x-user': 'ann' } });
