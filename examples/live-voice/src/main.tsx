/** A page that you talk to: hold the button while you speak. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { useLive } from '@adk-prism/client/live';
import microphone from '@adk-prism/client/microphone.worklet.js?url';
import speaker from '@adk-prism/client/speaker.worklet.js?url';

const connection = { server: import.meta.env.VITE_SERVER ?? 'http://127.0.0.1:8000', app: 'tour' };
const chatId = crypto.randomUUID();

function Voice() {
  const live = useLive({ ...connection, chatId, worklets: { microphone, speaker } });
  const { connection: line, mic, messages, isSpeaking, isBusy, problem } = live;
  const state = isSpeaking ? 'speaking' : mic.kind === 'on' ? 'listening' : isBusy ? 'working' : 'ready';

  return (
    <main style={{ maxWidth: '40rem', margin: '2rem auto', font: '16px/1.5 system-ui' }}>
      {line.kind !== 'open' && <button onClick={live.start}>Talk</button>}
      {line.kind === 'open' && (
        <>
          <button onPointerDown={live.press} onPointerUp={live.release} disabled={mic.kind === 'none'}>Hold to speak</button>{' '}
          <button onClick={live.interrupt} disabled={!isSpeaking}>Interrupt</button> <button onClick={() => void live.end()}>End</button>
          <p role="status">{state}</p>
        </>
      )}
      {mic.kind === 'none' && <p>{mic.reason}</p>}
      {line.kind === 'over' && line.reason && <p role="alert">{line.reason}</p>}
      {problem && <p role="alert">{problem}</p>}
      {messages.map(({ id, role, parts }) => (
        <p key={id} data-role={role}>
          <b>{role === 'user' ? 'You: ' : 'Agent: '}</b>
          {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
        </p>
      ))}
    </main>
  );
}

createRoot(document.getElementById('root')!).render(<StrictMode><Voice /></StrictMode>);
