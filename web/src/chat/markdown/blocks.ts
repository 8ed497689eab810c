/**
 * Cuts Markdown into blocks that can be parsed one by one. Only the last of them can still grow, so an answer of any
 * length costs no more per token than its open block.
 *
 * A cut is made at a blank line after which something new begins at the margin, outside of a fence, and before and
 * after a fence at the margin: code is a block of its own, which needs no parser. Indented text stays with what it
 * belongs to. What is long without a blank line is cut as well, where that shows least: a list between two items, a
 * table between two rows (its head is put before each piece), a paragraph between two sentences. Link definitions reach
 * over blocks, so each block is given those that it uses.
 */

/** Footnotes of a whole answer: numbered in the order in which they are named, and shown at its end. */
export type Footnote = { name: string; number: number; text: string };

const BEGINS = /^ {0,3}\[\^([^\]\s]+)\]:[ \t]*(.*)$/;
const NAMED = /\[\^([^\]\s]+)\](?!:)/g;
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})/;
/** More are no footnotes. */
const MOST = 500;

/** Return a text's footnotes. One that is named nowhere comes last: nothing of a text is lost. */
export function footnotes(text: string): readonly Footnote[] {
  if (!text.includes('[^')) return [];
  const texts = footnoteDefinitions(text);
  const order = new Set(
    [...text.matchAll(NAMED)].map((match) => footnoteName(match[1]!)).filter((name) => texts.has(name)),
  );
  return [...new Set([...order, ...texts.keys()])]
    .slice(0, MOST)
    .map((name, index) => ({ name, number: index + 1, text: texts.get(name)! }));
}

/** Names differ not by case. */
export function footnoteName(name: string): string {
  return name.toLowerCase();
}

function footnoteDefinitions(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let open = '';
  let fence = '';
  for (const line of text.split('\n')) {
    const mark = FENCE_LINE.exec(line)?.[1];
    if (mark && (!fence || line.trim().startsWith(fence))) fence = fence ? '' : mark;
    const begin = fence ? null : BEGINS.exec(line);
    if (begin) {
      open = footnoteName(begin[1]!);
      if (found.has(open)) open = '';
      else found.set(open, begin[2]!);
    } else if (open && goesOn(line, found.get(open)!))
      found.set(open, `${found.get(open)}\n${line.replace(/^(?: {1,4}|\t)/, '')}`);
    else open = '';
  }
  return found;
}

/** A footnote goes on with lines that are indented, and with any line right below it. */
function goesOn(line: string, before: string): boolean {
  return line.trim() === '' || /^(?: {2,}|\t)/.test(line) || !before.endsWith('\n');
}

/**
 * Pictures that are written into Markdown as data: a short name stands for each, so that no parser reads their
 * letters.
 */
type WithImages = { text: string; images: readonly string[] };

/** How the name of a picture begins; only `Rendered` understands it. */
export const DATA_IMAGE = '#image-';

/** Types that a browser shows and never runs, as for artifacts. */
const IMAGE = /(\]\(\s*<?|\]:\s*<?)(data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=_%-]+)/gi;

/** Take the pictures out of a block of Markdown. */
export function takeImages(block: string): WithImages {
  if (!block.includes('data:image/')) return { text: block, images: [] };
  const images: string[] = [];
  const text = block.replace(
    IMAGE,
    (_, before: string, image: string) => `${before}${DATA_IMAGE}${images.push(image) - 1}`,
  );
  return { text, images };
}

export type Block = {
  /** Where it begins in the text: its identity, since text before it never changes. */
  start: number;
  text: string;
  /** The head of the table that this piece goes on with. */
  head?: string;
};

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const FENCE_AT_MARGIN = /^(?:`{3}|~{3})/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const ITEM_AT_MARGIN = /^(?:[-*+]|\d{1,9}[.)])\s/;
const INDENTED = /^(?: {2,}|\t)/;
const DELIMITERS = /^ {0,3}[|:-][\s:|-]*$/;
/** What begins a block that is no plain paragraph. */
const SPECIAL = /^(?: {0,3}(?:[>#|<]|\[[^\]]*\]:)| {4}|\t)/;
const SENTENCE_END = /[.!?…]\s|[。！？]/g;
const SPACE = /\s/g;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:\s*\S+.*$/gm;

/** Letters from which on a block is cut where it can be: a parser takes a millisecond or two for so much. */
const LONG = 2000;
/** Letters from which on a sentence that does not end is cut at a space. */
const TOO_LONG = 3000;

/** What a text is cut into, and where to go on when it has grown. */
export type Cut = { blocks: readonly Block[]; length: number };

const NOTHING: Cut = { blocks: [], length: 0 };

/** Cut a text; with the cut of its beginning, only the last block is looked at again. */
export function cut(text: string, before: Cut = NOTHING): Cut {
  const open = text.length >= before.length ? before.blocks.at(-1) : undefined;
  const known = open ? before.blocks.slice(0, -1) : [];
  const found = new Scan(text, open?.start ?? 0, open?.head ?? '').blocks();
  // Whoever draws blocks tells by the object that one has not changed.
  if (open && found[0]?.text === open.text) found[0] = open;
  return { blocks: [...known, ...found], length: text.length };
}

/** One way through a text, line by line. */
class Scan {
  private readonly found: Block[] = [];
  private fence = '';
  private kind: 'list' | 'paragraph' | 'other' = 'other';
  private blank = false;
  /** The block is a fence that is closed. */
  private closed = false;
  private before = '';

  constructor(
    private readonly text: string,
    private start: number,
    /** The head of the table that the block is, or goes on with. */
    private head: string,
    private isRest = head !== '',
  ) {}

  blocks(): Block[] {
    const { text } = this;
    for (let at = this.start; at < text.length; ) {
      const end = text.indexOf('\n', at);
      const line = text.slice(at, end < 0 ? text.length : end);
      at = this.take(line, at, end < 0 ? text.length : end + 1, end >= 0);
    }
    if (this.start < text.length) this.put(text.length);
    return this.found;
  }

  /** Take one line; return where to go on. */
  private take(line: string, at: number, next: number, isWhole: boolean): number {
    if (this.fence) {
      if (closes(line, this.fence)) {
        this.fence = '';
        this.closed = FENCE_AT_MARGIN.test(this.text.slice(this.start, this.start + 3));
      }
      return next;
    }
    if (line.trim() === '') {
      this.blank = at > this.start;
      return next;
    }
    if (this.closed || (at > this.start && FENCE_AT_MARGIN.test(line))) this.end(at, '');
    // A line that has only begun may still turn out to belong to what is before it.
    else if (
      this.blank &&
      (isWhole || line.length > 12 || (this.kind !== 'list' && !/^\s/.test(line))) &&
      this.beginsAnew(line)
    )
      this.end(at, '');
    else if (at - this.start >= LONG && this.isSeam(line)) this.end(at, this.head);
    if (at === this.start && !this.isRest)
      this.kind = ITEM.test(line) ? 'list' : SPECIAL.test(line) || FENCE.test(line) ? 'other' : 'paragraph';
    if (!this.head && isWhole && this.isHead(line)) this.head = this.text.slice(this.start, next);
    this.fence = FENCE.exec(line)?.[1] ?? '';
    this.blank = false;
    this.before = at === this.start ? line : '';
    return this.kind === 'paragraph' && !this.head && !this.fence ? this.breathe(at, next) : next;
  }

  private beginsAnew(line: string): boolean {
    return !INDENTED.test(line) && !(this.kind === 'list' && ITEM.test(line));
  }

  /** Tell whether a long block can be cut before a line. */
  private isSeam(line: string): boolean {
    return this.head ? line.includes('|') : this.kind === 'list' && ITEM_AT_MARGIN.test(line);
  }

  /** Tell whether a line is the second one of a table's head. */
  private isHead(line: string): boolean {
    return this.before.includes('|') && line.includes('|') && line.includes('-') && DELIMITERS.test(line);
  }

  /** Cut a paragraph that has become long; return where to go on. */
  private breathe(at: number, next: number): number {
    const long = this.start + LONG;
    if (next <= long) return next;
    const sentence = after(SENTENCE_END, this.text, Math.max(at, long), Math.min(next, this.start + TOO_LONG));
    const place = sentence ?? after(SPACE, this.text, Math.max(at, this.start + TOO_LONG), next);
    if (place === null || place >= next) return next;
    this.end(place, '');
    this.kind = 'paragraph';
    return place;
  }

  private end(at: number, head: string): void {
    this.put(at);
    this.start = at;
    this.head = head;
    this.isRest = head !== '';
    this.closed = false;
    this.before = '';
  }

  private put(end: number): void {
    const text = this.text.slice(this.start, end);
    this.found.push(this.isRest ? { start: this.start, text, head: this.head } : { start: this.start, text });
  }
}

/** Return where the first match between two places ends; null if there is none. */
function after(pattern: RegExp, text: string, from: number, until: number): number | null {
  pattern.lastIndex = from;
  const match = from < until ? pattern.exec(text) : null;
  return match && match.index < until ? match.index + match[0].length : null;
}

function closes(line: string, fence: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= fence.length && trimmed === fence[0]!.repeat(trimmed.length);
}

/** Return a text's link definitions, to be put behind the blocks that use them. */
export function definitions(text: string): string {
  return text.includes(']:') ? (text.match(DEFINITION) ?? []).join('\n') : '';
}

/** Return those of the link definitions whose names a block has: of many, each block gets its own. */
export function used(links: string, block: string): string {
  const text = nameOf(block);
  return links
    .split('\n')
    .filter((line) => text.includes(nameOf(line.slice(line.indexOf('['), line.indexOf(']') + 1))))
    .join('\n');
}

/** Names of links differ neither by case nor by the space in them. */
function nameOf(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ');
}

/** Return the code of a block that is one fence, open or closed: it needs no parser, however long it is. */
export function fenced(block: string): { language: string; code: string } | null {
  const marker = FENCE.exec(block)?.[1];
  if (!marker || !block.startsWith(marker)) return null;
  const end = block.indexOf('\n');
  if (end < 0) return { language: '', code: '' };
  const language = block.slice(0, end).replace(/[`~]/g, '').trim();
  const lines = block.slice(end + 1).split('\n');
  const close = lines.findIndex((line) => closes(line, marker));
  if (close < 0) return { language, code: lines.join('\n') };
  return lines.slice(close + 1).every((line) => line.trim() === '')
    ? { language, code: lines.slice(0, close).join('\n') }
    : null;
}
