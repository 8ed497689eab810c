/** The list of conversations, and the one that the address names. */
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { listChats, loadMessages, type Chat, type PrismUIMessage } from '@adk-prism/client/ai';
import { Conversation } from './Conversation';
import { connection } from './prism';

function App() {
  const [id, setId] = useState(location.hash.slice(1));
  const [chats, setChats] = useState<Chat[]>([]);
  const [history, setHistory] = useState<{ id: string; messages: PrismUIMessage[] }>();
  const [problem, setProblem] = useState('');
  const refresh = () => void listChats(connection).then(setChats, (error: Error) => setProblem(error.message));

  useEffect(() => {
    const follow = () => setId(location.hash.slice(1));
    addEventListener('hashchange', follow);
    if (!location.hash) location.hash = crypto.randomUUID();
    refresh();
    return () => removeEventListener('hashchange', follow);
  }, []);

  useEffect(() => {
    if (id) loadMessages(connection, id).then((messages) => setHistory({ id, messages }), (error: Error) => setProblem(error.message));
  }, [id]);

  return (
    <>
      <nav>
        <a href={`#${crypto.randomUUID()}`}>New chat</a>
        {chats.map((chat) => <a key={chat.id} href={`#${chat.id}`}>{chat.title}</a>)}
      </nav>
      <main>
        {problem && <p role="alert">{problem}</p>}
        {history?.id === id && <Conversation key={id} id={id} messages={history.messages} onFinish={refresh} />}
      </main>
    </>
  );
}

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>);
