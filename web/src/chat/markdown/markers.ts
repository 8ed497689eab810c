/** Inline markers: which spans of an answer rest on which sources, put into its Markdown as links. */
import type { PrismGrounding } from '@adk-prism/client/ai';

/** How the address of a marker begins; only `Marker` understands it. */
export const MARKER = '#source-';

/** Return a text with a marker behind every span that sources stand behind. */
export function marked(text: string, grounding: PrismGrounding | undefined, numberOf: (chunk: number) => number | null): string {
  const places = new Map<number, Set<number>>();
  for (const support of grounding?.groundingSupports ?? []) {
    const end = endOf(text, support.segment);
    if (end === null) continue;
    const numbers = places.get(end) ?? new Set<number>();
    for (const chunk of support.groundingChunkIndices ?? []) {
      const number = numberOf(chunk);
      if (number !== null) numbers.add(number);
    }
    places.set(end, numbers);
  }
  return inserted(text, [...places].map(([end, numbers]) => [end, [...numbers].map((number) => `[${number}](${MARKER}${number})`).join('')]));
}

/** Put words into a text, each at its place. */
export function inserted(text: string, places: readonly (readonly [at: number, words: string])[]): string {
  let result = '';
  let from = 0;
  for (const [at, words] of places.toSorted((a, b) => a[0] - b[0])) {
    result += text.slice(from, at) + words;
    from = at;
  }
  return result + text.slice(from);
}

type Segment = { startIndex?: number; endIndex?: number; text?: string } | undefined;

/** Find where a span ends: by its words, since its indices count bytes of one part of one response. */
function endOf(text: string, segment: Segment): number | null {
  if (!segment?.text) return null;
  const near = Math.max(0, (segment.startIndex ?? 0) - segment.text.length);
  const found = text.indexOf(segment.text, Math.min(near, text.length));
  const at = found >= 0 ? found : text.indexOf(segment.text);
  return at < 0 ? null : at + segment.text.length;
}
