/** How other programs talk to an app of this server: addresses, and code that can be copied, with this server's address. */
import { address, path } from '../app/serverUrl';
import { curlOf } from '../chat/export';
import * as words from '../words/home';

export type Snippet = { name: string; about: string; language: string; code: string };

/** The command that serves a folder of agents. */
export const COMMAND = 'adk-prism serve path/to/agents';

/** Return the addresses of an app, each with what speaks to it. */
export function addressesOf(app: string): [what: string, url: string][] {
  return [
    [words.aiSdkUsechat, address(path('api', 'chat', app))],
    ['AG-UI', address(path('api', 'ag-ui', app))],
    ['CopilotKit', address('api/copilotkit')],
    [words.adkRunSse, address('run_sse')],
    ['OpenAPI', address('docs')],
  ];
}

export function snippetsOf(app: string): Snippet[] {
  return [
    {
      name: 'useChat',
      about: words.reactWithTheAiSdk,
      language: 'tsx',
      code: `import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';

const { messages, sendMessage } = useChat({
  transport: new DefaultChatTransport({ api: ${quoted(address(path('api', 'chat', app)))} }),
});`,
    },
    {
      name: 'AG-UI',
      about: words.anyAgUiClientNpm,
      language: 'ts',
      code: `import { HttpAgent } from '@ag-ui/client';

const agent = new HttpAgent({ url: ${quoted(address(path('api', 'ag-ui', app)))} });
agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'Hello' });
await agent.runAgent();`,
    },
    {
      name: 'curl',
      about: words.streamOnTheCommandLine,
      language: 'sh',
      code: curlOf({ app, session: 'my-chat', user: 'user' }, 'Hello'),
    },
  ];
}

/** A string of JavaScript, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '%27')}'`;
}
