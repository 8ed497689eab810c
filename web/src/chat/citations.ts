/**
 * Numbers in an answer that lead to its citations in the proof: behind what is named, and behind a section that rests
 * on them.
 */
import type { PrismProof, PrismGrounding } from '@adk-prism/client/ai';

// Inline markers: which spans of an answer rest on which sources, put into its Markdown as links.

/** How the address of a marker begins; only `Marker` understands it. */
export const MARKER = '#source-';

/** Return a text with a marker behind every span that sources stand behind. */
export function marked(
  text: string,
  grounding: PrismGrounding | undefined,
  numberOf: (chunk: number) => number | null,
): string {
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
  return inserted(
    text,
    [...places].map(([end, numbers]) => [
      end,
      [...numbers].map((number) => `[${number}](${MARKER}${number})`).join(''),
    ]),
  );
}

/** Put words into a text, each at its place. */
function inserted(text: string, places: readonly (readonly [at: number, words: string])[]): string {
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

/** How the address of a number begins; only `Marker` understands it. */
export const CITED = '#proof-';

/** Shorter names would be found in words that mean something else. */
const LEAST_NAME = 6;
/** Behind one place, the others are in the panel. */
const MOST_NUMBERS = 8;

/**
 * Return an answer with the numbers of its citations, as the proof panel counts them: only where the text or the proof
 * says so.
 */
export function citationMarks(text: string, proof: PrismProof): string {
  const places = new Map<number, number[]>();
  const sections = sectionEnds(text);
  proof.citations.forEach((citation, index) => {
    const ends = [
      mentionEnd(text, citation),
      ...sectionsOf(citation, proof).map((section) => endOfSection(sections, section)),
    ];
    for (const end of new Set(ends)) if (end !== null) places.set(end, [...(places.get(end) ?? []), index + 1]);
  });
  return inserted(
    text,
    [...places].map(([end, numbers]) => [
      end,
      numbers
        .slice(0, MOST_NUMBERS)
        .map((number) => `[${number}](${CITED}${number})`)
        .join(''),
    ]),
  );
}

type Citation = PrismProof['citations'][number];

/**
 * Find where a citation is named first: its label, its address, or what it is called before a year, comma or bracket.
 */
function mentionEnd(text: string, { label, source, uri }: Citation): number | null {
  const short = source.split(/,| \(| \d{4}\b/)[0] ?? '';
  for (const name of [label && /\W/.test(label) ? label : '', source, uri, short]) {
    if (!name || (name !== label && name.length < LEAST_NAME)) continue;
    const at = text.indexOf(name);
    // Inside of a link or of code it would break them.
    if (at >= 0 && !/[\w/]/.test(text[at + name.length] ?? '') && name !== uri && isPlain(text, at))
      return at + name.length;
  }
  return null;
}

/** Tell whether a place stands in running text: not in a link, an address, or code. */
function isPlain(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at) + 1, at);
  if ((line.split('`').length - 1) % 2 === 1 || /(?:https?:\/\/\S*|\]\([^)]*|\[[^\]]*|<[^>]*)$/.test(line))
    return false;
  return (text.slice(0, at).match(/^(?:```|~~~)/gm) ?? []).length % 2 === 0;
}

/** Return the sections that a citation stands behind: its own, or those that a score names whose specialist used it. */
function sectionsOf({ section, used_by: users = [], by }: Citation, { factors = [], readings }: PrismProof): string[] {
  if (section) return [section];
  const titles = new Set(readings.flatMap((reading) => (reading.section ? [reading.section] : [])));
  const reasons = factors.filter(({ name }) => users.includes(name) || by === name).map(({ why = '' }) => why);
  return [...titles].filter((title) => reasons.some((why) => why.startsWith(`${bare(title)}:`)));
}

/** A title without what stands in brackets behind it. */
function bare(title: string): string {
  return title.replace(/\s*\([^)]*\)\s*$/, '').trim();
}

type SectionEnd = { title: string; end: number };

/** Find paragraphs that begin with a title in bold, and what follows a heading up to the next one: where they end. */
function sectionEnds(text: string): SectionEnd[] {
  const found: SectionEnd[] = [];
  for (const match of text.matchAll(/^\*\*(.+?):?\*\*:?[^\n]*\S/gm))
    found.push({ title: match[1]!.replace(/:$/, ''), end: match.index + match[0].length });
  for (const match of text.matchAll(/^#{1,6} +(.+?)\s*$\n+([^#\n][^\n]*\S)/gm))
    found.push({ title: match[1]!, end: match.index + match[0].length });
  return found;
}

function endOfSection(sections: readonly SectionEnd[], section: string): number | null {
  return sections.find(({ title }) => title === section || bare(title) === bare(section))?.end ?? null;
}
