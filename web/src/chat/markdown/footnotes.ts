/** Footnotes of a whole answer: numbered in the order in which they are named, and shown at its end. */

export type Footnote = { name: string; number: number; text: string };

const BEGINS = /^ {0,3}\[\^([^\]\s]+)\]:[ \t]*(.*)$/;
const NAMED = /\[\^([^\]\s]+)\](?!:)/g;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** More are no footnotes. */
const MOST = 500;

/** Return a text's footnotes. One that is named nowhere comes last: nothing of a text is lost. */
export function footnotes(text: string): readonly Footnote[] {
  if (!text.includes('[^')) return [];
  const texts = definitions(text);
  const order = new Set([...text.matchAll(NAMED)].map((match) => nameOf(match[1]!)).filter((name) => texts.has(name)));
  return [...new Set([...order, ...texts.keys()])].slice(0, MOST).map((name, index) => ({ name, number: index + 1, text: texts.get(name)! }));
}

/** Names differ not by case. */
export function nameOf(name: string): string {
  return name.toLowerCase();
}

function definitions(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let open = '';
  let fence = '';
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark && (!fence || line.trim().startsWith(fence))) fence = fence ? '' : mark;
    const begin = fence ? null : BEGINS.exec(line);
    if (begin) {
      open = nameOf(begin[1]!);
      if (found.has(open)) open = '';
      else found.set(open, begin[2]!);
    } else if (open && goesOn(line, found.get(open)!)) found.set(open, `${found.get(open)}\n${line.replace(/^(?: {1,4}|\t)/, '')}`);
    else open = '';
  }
  return found;
}

/** A footnote goes on with lines that are indented, and with any line right below it. */
function goesOn(line: string, before: string): boolean {
  return line.trim() === '' || /^(?: {2,}|\t)/.test(line) || !before.endsWith('\n');
}
