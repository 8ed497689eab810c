/** Connect your agent: how other programs talk to it. */
import { useId, useState } from 'react';
import { useServerData } from '../app/query';
import { isUsable, useCatalogue } from '../app/catalogue';
import { getJson, address, path } from '../app/server';
import { Copy } from '../ui/Copy';
import { curlOf } from '../chat/export';
import { Line } from './ServeCommand';

/**
 * How other programs talk to an app of this server: addresses, and code that can be copied, with this server's
 * address.
 */
export type Snippet = { name: string; about: string; language: string; code: string };

/** Return the addresses of an app, each with what speaks to it. */
export function addressesOf(app: string): [what: string, url: string][] {
  return [
    ['AI SDK (useChat)', address(path('api', 'chat', app))],
    ['AG-UI', address(path('api', 'ag-ui', app))],
    ['CopilotKit', address('api/copilotkit')],
    ['ADK (run_sse)', address('run_sse')],
    ['OpenAPI', address('docs')],
  ];
}

export function snippetsOf(app: string): Snippet[] {
  return [
    {
      name: 'useChat',
      about: 'React, with the AI SDK: npm install ai @ai-sdk/react',
      language: 'tsx',
      code: `import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';

const { messages, sendMessage } = useChat({
  transport: new DefaultChatTransport({ api: ${quoted(address(path('api', 'chat', app)))} }),
});`,
    },
    {
      name: 'AG-UI',
      about: 'Any AG-UI client: npm install @ag-ui/client',
      language: 'ts',
      code: `import { HttpAgent } from '@ag-ui/client';

const agent = new HttpAgent({ url: ${quoted(address(path('api', 'ag-ui', app)))} });
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Hello' });
await agent.runAgent();`,
    },
    {
      name: 'curl',
      about: 'A stream on the command line',
      language: 'sh',
      code: curlOf({ app, session: 'my-chat', user: 'user' }, 'Hello'),
    },
  ];
}

/** A string of JavaScript, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '%27')}'`;
}

export default function Connect() {
  const { apps } = useCatalogue();
  const names = apps?.filter(isUsable).map(({ name }) => name) ?? [];
  const [picked, setPicked] = useState<string | null>(null);
  const app = picked ?? names[0] ?? 'my_app';
  const id = useId();
  return (
    <div className="connect">
      {names.length > 1 && (
        <p>
          <label htmlFor={id}>App </label>
          <select id={id} className="field" value={app} onChange={(event) => setPicked(event.target.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </p>
      )}
      <dl>
        {addressesOf(app).map(([what, url]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <Line text={url} label={`Copy the address for ${what}`} />
            </dd>
          </div>
        ))}
      </dl>
      {snippetsOf(app).map((snippet) => (
        <SnippetView key={snippet.name} snippet={snippet} />
      ))}
      <Versions />
    </div>
  );
}

function SnippetView({ snippet: { name, about, code } }: { snippet: Snippet }) {
  return (
    <figure className="code">
      <figcaption>
        <span>
          <strong>{name}</strong> {about}
        </span>
        <Copy text={code} label={`Copy the ${name} snippet`} />
      </figcaption>
      <pre tabIndex={0} aria-label={`Code, ${name}`}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

type VersionAnswer = { version?: string; language_version?: string; adkPrism?: string };

function Versions() {
  const { data: found } = useServerData(['version'], (signal) => getJson<VersionAnswer>('version', signal));
  if (!found) return null;
  return (
    <p className="quiet">
      {`adk-prism ${found.adkPrism ?? ''} · google-adk ${found.version ?? ''} · Python ${found.language_version ?? ''}. For details, run`}{' '}
      <code>adk-prism doctor</code>.
    </p>
  );
}
