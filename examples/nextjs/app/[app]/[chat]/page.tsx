/** One chat. Its history is in the first HTML; an answer that is being written is resumed by the browser. */
import { loadMessages } from '@adk-prism/client/ai';
import { Conversation } from '@/components/Conversation';
import { connectionOf } from '@/lib/prism';
import { requireUser } from '@/lib/session';

export default async function Page({ params }: { params: Promise<{ app: string; chat: string }> }) {
  const { app, chat } = await params;
  const messages = await loadMessages(connectionOf(await requireUser(), app), chat);
  return <Conversation key={chat} app={app} id={chat} messages={messages} />;
}
