/** The list of conversations, and CopilotKit's chat with the one that the address names. adk-prism is the runtime. */
import { StrictMode, useCallback, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { CopilotChat, CopilotKit } from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { listChats, type Chat } from '@adk-prism/client';
import { ACTIVITIES } from './activities';
import { AGENT, Hooks } from './Hooks';

const server = import.meta.env.VITE_SERVER ?? 'http://127.0.0.1:8000';
const begin = () => void (location.hash = crypto.randomUUID());

function App() {
  const [id, setId] = useState(location.hash.slice(1));
  const [chats, setChats] = useState<Chat[]>([]);
  const [problem, setProblem] = useState('');
  const refresh = useCallback(() => void listChats({ server, app: AGENT }).then(setChats, (error: Error) => setProblem(error.message)), []);

  useEffect(() => {
    const follow = () => setId(location.hash.slice(1));
    addEventListener('hashchange', follow);
    if (!location.hash) begin();
    refresh();
    return () => removeEventListener('hashchange', follow);
  }, []);

  return (
    <CopilotKit runtimeUrl={`${server}/api/copilotkit`} renderActivityMessages={ACTIVITIES} showDevConsole={false}>
      <div className="page">
        <nav>
          <button onClick={begin}>New chat</button>
          {chats.map((chat) => <a key={chat.id} href={`#${chat.id}`}>{chat.title}</a>)}
          {problem && <p role="alert">{problem}</p>}
        </nav>
        <main>
          <Hooks onFinish={refresh} />
          {id && <CopilotChat key={id} agentId={AGENT} threadId={id} attachments={{ enabled: true }} />}
        </main>
      </div>
    </CopilotKit>
  );
}

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>);
