/**
 * Cuts Markdown into blocks that can be parsed one by one. Only the last of them can still grow, so an answer of any
 * length costs no more per token than its open block.
 *
 * A cut is made at a blank line after which something new begins at the margin, outside of a fence. Lists and indented
 * text stay with what they belong to. Link definitions reach over blocks, so each block is given all of them.
 */

export type Block = {
  /** Where it begins in the text: its identity, since text before it never changes. */
  start: number;
  text: string;
};

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const INDENTED = /^(?: {2,}|\t)/;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:\s*\S+.*$/gm;

/** What a text is cut into, and where to go on when it has grown. */
export type Cut = { blocks: readonly Block[]; length: number };

const NOTHING: Cut = { blocks: [], length: 0 };

/** Cut a text; with the cut of its beginning, only the last block is looked at again. */
export function cut(text: string, before: Cut = NOTHING): Cut {
  const open = before.blocks.at(-1);
  const known = open && text.length >= before.length ? before.blocks.slice(0, -1) : [];
  const from = known.length > 0 || (open && text.length >= before.length) ? (open?.start ?? 0) : 0;
  return { blocks: [...known, ...scan(text, from)], length: text.length };
}

function scan(text: string, from: number): Block[] {
  const blocks: Block[] = [];
  let start = from;
  let fence = '';
  let isList = false;
  let blank = false;
  for (let at = from; at < text.length; ) {
    const end = text.indexOf('\n', at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, end < 0 ? text.length : end);
    if (fence) {
      if (closes(line, fence)) fence = '';
    } else if (line.trim() === '') {
      blank = at > start;
    } else {
      // A line that has only begun may still turn out to belong to the list before it.
      const complete = end >= 0 || line.length > 12;
      if (blank && complete && beginsAnew(line, isList)) {
        blocks.push({ start, text: text.slice(start, at) });
        start = at;
        isList = false;
      }
      if (at === start) isList = ITEM.test(line);
      fence = FENCE.exec(line)?.[1] ?? '';
      blank = false;
    }
    at = next;
  }
  if (start < text.length) blocks.push({ start, text: text.slice(start) });
  return blocks;
}

function beginsAnew(line: string, isList: boolean): boolean {
  return !INDENTED.test(line) && !(isList && ITEM.test(line));
}

function closes(line: string, fence: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= fence.length && trimmed === fence[0]!.repeat(trimmed.length);
}

/** Return a text's link definitions, to be put behind every block that may use them. */
export function definitions(text: string): string {
  return text.includes(']:') ? (text.match(DEFINITION) ?? []).join('\n') : '';
}

/** Return the code of a block that is one open fence: it needs no parser while it grows. */
export function openCode(block: string): { language: string; code: string } | null {
  const marker = FENCE.exec(block)?.[1];
  if (!marker) return null;
  const end = block.indexOf('\n');
  if (end < 0) return { language: '', code: '' };
  const body = block.slice(end + 1);
  const last = body.trimEnd().split('\n').at(-1) ?? '';
  if (closes(last, marker)) return null;
  return { language: block.slice(0, end).replace(/[`~]/g, '').trim(), code: body };
}
