// A page as CopilotKit's users write it: its provider, its chat, and hooks for tools, questions and state.
// `?thread=` names the thread, `?agent=` the app; without one it is the runtime's default.
import {
  CopilotChat,
  CopilotKit,
  useAgent,
  useFrontendTool,
  useInterrupt,
  useRenderTool,
} from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const query = new URLSearchParams(window.location.search);
const agent = query.get('agent') ?? 'default';
const thread = query.get('thread') ?? 'thread-1';

function Hooks() {
  useFrontendTool({
    agentId: agent,
    name: 'get_location',
    description: 'Where the person is.',
    parameters: z.object({ accuracy: z.string().optional() }),
    handler: async () => ({ city: 'Rome' }),
  });
  useRenderTool({
    agentId: agent,
    name: 'get_weather',
    parameters: z.object({ city: z.string().optional() }),
    render: ({ status, parameters, result }) => (
      <p data-testid="weather">{`${status}: ${parameters?.city ?? ''} ${result ?? ''}`}</p>
    ),
  });
  useInterrupt({
    agentId: agent,
    render: ({ interrupts, resolve, cancel }) => (
      <ul>
        {interrupts.map((asked) => (
          <li key={asked.id} data-testid="question" data-reason={asked.reason}>
            {asked.message}
            <button onClick={() => void resolve({ approved: true, guests: 4 }, asked.id)}>Approve</button>
            <button onClick={() => void resolve({ approved: false }, asked.id)}>Deny</button>
            <button onClick={() => void cancel(asked.id)}>Leave it</button>
          </li>
        ))}
      </ul>
    ),
  });
  return null;
}

function State() {
  const { agent: used } = useAgent({ agentId: agent });
  return (
    <aside>
      <button onClick={() => used.setState({ ...used.state, theme: 'dark' })}>Dark</button>
      <pre data-testid="state">{JSON.stringify(used.state)}</pre>
    </aside>
  );
}

createRoot(document.querySelector('#root')!).render(
  <CopilotKit
    runtimeUrl="/api/copilotkit"
    useSingleEndpoint={query.has('single') ? true : undefined}
    showDevConsole={false}
    onError={(failed) => console.info('copilotkit error', failed)}
  >
    <Hooks />
    <State />
    <CopilotChat agentId={agent} threadId={thread} />
  </CopilotKit>,
);
