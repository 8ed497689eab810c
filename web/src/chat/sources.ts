/** A message's sources in order, and which of them each grounding chunk is. */
import type { Message } from './message';

export type NumberedSource = { number: number; title: string; url: string; detail: string };

export function sourcesOf(message: Message): NumberedSource[] {
  const found: NumberedSource[] = [];
  for (const part of message.parts) {
    if (part.type === 'source-url') {
      const safe = /^https?:/i.test(part.url) && URL.canParse(part.url);
      const host = safe ? new URL(part.url).host : part.url.slice(0, 80);
      found.push({ number: found.length + 1, title: part.title || host, url: safe ? part.url : '', detail: part.title ? host : '' });
    } else if (part.type === 'source-document') {
      found.push({ number: found.length + 1, title: part.title, url: '', detail: [part.filename, part.mediaType].filter(Boolean).join(' · ') });
    }
  }
  return found;
}

/** Return the number of the source that a grounding chunk is, by its address or title. */
export function chunkNumbers(message: Message, sources: readonly NumberedSource[]): (chunk: number) => number | null {
  const chunks = message.metadata?.grounding?.groundingChunks ?? [];
  return (index) => {
    const chunk = chunks[index];
    const about = chunk?.web ?? chunk?.maps ?? chunk?.retrievedContext ?? chunk?.image;
    if (!about) return null;
    const address = 'uri' in about ? about.uri : undefined;
    const match = sources.find((source) => (address && source.url === address) || (about.title && source.title === about.title));
    return match?.number ?? null;
  };
}
