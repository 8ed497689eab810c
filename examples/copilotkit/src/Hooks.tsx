/** What the page adds to the chat: a tool of its own, how tools look, and how questions are asked. */
import { useEffect } from 'react';
import { useAgent, useDefaultRenderTool, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2';
import { z } from 'zod';

/** The app on the server: change it to yours. */
export const AGENT = 'tour';

export function Hooks({ onFinish }: { onFinish: () => void }) {
  const { agent } = useAgent({ agentId: AGENT });
  useEffect(() => agent.subscribe({ onRunFinalized: onFinish }).unsubscribe, [agent, onFinish]);

  // A tool that the browser runs. The others are the server's.
  useFrontendTool({
    agentId: AGENT,
    name: 'get_location',
    description: 'Where the person is.',
    parameters: z.object({ accuracy: z.string().optional() }),
    handler: async () => ({ city: 'Lisbon' }),
  });

  useDefaultRenderTool({
    render: ({ name, status, parameters, result }) => (
      <details>
        <summary>{name}: {status}</summary>
        <pre>{result ?? JSON.stringify(parameters, null, 2)}</pre>
      </details>
    ),
  });

  useInterrupt({
    agentId: AGENT,
    render: ({ interrupts, resolve }) => (
      <>
        {interrupts.map(({ id, message }) => (
          <fieldset key={id}>
            <legend>{message}</legend>
            <button onClick={() => void resolve({ approved: true }, id)}>Allow</button> <button onClick={() => void resolve({ approved: false }, id)}>Deny</button>
          </fieldset>
        ))}
      </>
    ),
  });
  return null;
}
