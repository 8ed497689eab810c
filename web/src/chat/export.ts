/** A conversation as Markdown, as JSON, and its next request as a curl line. */
import { address } from '@adk-prism/client';
import { sendBody } from '@adk-prism/client/ai';
import { hasToken } from '../app/server';
import { safeLink } from '../ui/format';
import { isTool, standing, toolName, type Message, type Part } from './message';
import { connectionOf, type Where } from './transport';

export function markdownOf(messages: readonly Message[]): string {
  return messages.map(messageMarkdown).filter(Boolean).join('\n\n---\n\n').concat('\n');
}

function messageMarkdown(message: Message): string {
  const parts = standing(message).map(partMarkdown).filter(Boolean);
  return [`**${message.role === 'user' ? 'You' : 'Agent'}**`, ...parts].join('\n\n');
}

function partMarkdown(part: Part): string {
  if (isTool(part)) {
    const { state, input, output, errorText } = part as {
      state: string;
      input?: unknown;
      output?: unknown;
      errorText?: string;
    };
    const result = errorText ?? (output === undefined ? state : JSON.stringify(output));
    return fenced('', `${toolName(part)}(${JSON.stringify(input ?? {})})\n→ ${result}`);
  }
  switch (part.type) {
    case 'text':
      return part.text;
    case 'reasoning':
      return part.text
        .split('\n')
        .map((line) => `> ${line}`)
        .join('\n');
    case 'source-url':
      return `- ${linked(part.title ?? part.url, part.url)}`;
    case 'source-document':
      return `- ${part.title}`;
    case 'file':
      return part.url.startsWith('data:')
        ? `(file: ${part.filename ?? part.mediaType})`
        : linked(part.filename ?? part.mediaType, part.url);
    case 'data-executable-code':
      return fenced((part.data.language ?? '').toLowerCase(), part.data.code ?? '');
    case 'data-code-execution-result':
      return fenced('', part.data.output ?? '');
    case 'step-start':
      return '';
    default:
      return 'data' in part ? `- ${part.type.replace('data-', '')}: \`${JSON.stringify(part.data)}\`` : '';
  }
}

/** A link to an address that may be followed; to any other, its name alone. */
function linked(name: string, url: string): string {
  const said = name.replaceAll(/[\\[\]<>`]/g, '\\$&').replaceAll(/\s+/g, ' ');
  const link = safeLink(url)?.replaceAll('(', '%28').replaceAll(')', '%29');
  return link ? `[${said}](${link})` : said;
}

/** Fence a text with more backticks than it holds in a row. */
function fenced(language: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** Return a command that sends a message again, to another session of its own. */
export function curlOf(where: Where, text: string): string {
  const connection = connectionOf(where);
  const message: Message = { id: 'message-1', role: 'user', parts: [{ type: 'text', text }] };
  const body = JSON.stringify({
    userId: where.user,
    ...sendBody({ chatId: where.session, messages: [message], trigger: 'submit-message', messageId: undefined }),
  });
  const token = hasToken() ? ` \\\n  -H "authorization: Bearer $ADK_PRISM_TOKEN"` : '';
  return `curl -N ${quoted(address(connection, ['api', 'chat', where.app], { dialect: connection.dialect }))} \\\n  -H 'content-type: application/json'${token} \\\n  -d ${quoted(body)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Return a title as the name of a file, without what a file system refuses. */
export function fileName(title: string, otherwise: string): string {
  const words = title.replace(/[\\/:*?"<>|\p{C}\s]+/gu, ' ');
  return (
    [...words]
      .slice(0, 80)
      .join('')
      .replace(/^[ .]+|[ .]+$/g, '') || otherwise
  );
}
