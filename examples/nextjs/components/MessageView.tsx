/** A message: what a person wrote in a bubble, what the agent did as it came, its sources at the end. */
import { Brain, BookOpen, ChevronDown, Paperclip } from 'lucide-react';
import type { ReactNode } from 'react';
import { Streamdown } from 'streamdown';
import { isToolUIPart } from 'ai';
import type { PrismUIMessage } from '@adk-prism/client/ai';
import { ToolView } from './ToolView';

type Part = PrismUIMessage['parts'][number];
type Decide = (approval: string, approved: boolean) => void;

export function MessageView({ role, parts, decide }: { role: string; parts: Part[]; decide: Decide }) {
  const sources = parts.filter((part) => part.type === 'source-url');
  const isUser = role === 'user';
  return (
    <article data-role={role} className={isUser ? 'ml-auto max-w-[80%] rounded-lg bg-muted px-4 py-3' : 'flex flex-col gap-4'}>
      {parts.map((part, index) => <PartView key={index} part={part} decide={decide} />)}
      {sources.length > 0 && (
        <Fold icon={<BookOpen size={16} />} title={`Used ${sources.length} sources`}>
          {sources.map(({ sourceId, url, title }) => <a key={sourceId} href={url} className="block underline">{title ?? url}</a>)}
        </Fold>
      )}
    </article>
  );
}

function PartView({ part, decide }: { part: Part; decide: Decide }) {
  if (part.type === 'text') return <Streamdown>{part.text}</Streamdown>;
  if (part.type === 'reasoning') return <Fold icon={<Brain size={16} />} title="Reasoning"><Streamdown>{part.text}</Streamdown></Fold>;
  if (isToolUIPart(part)) return <ToolView part={part} decide={decide} />;
  if (part.type !== 'file') return null;
  if (part.mediaType.startsWith('image/')) return <img src={part.url} alt={part.filename ?? ''} className="max-w-sm rounded-md border" />;
  return <a href={part.url} className="flex items-center gap-2 underline"><Paperclip size={16} />{part.filename ?? part.mediaType}</a>;
}

function Fold({ icon, title, children }: { icon: ReactNode; title: string; children: ReactNode }) {
  return (
    <details className="group text-sm text-muted-foreground">
      <summary className="flex list-none items-center gap-2">{icon}{title}<ChevronDown size={16} className="group-open:rotate-180" /></summary>
      <div className="mt-2 space-y-1">{children}</div>
    </details>
  );
}
