/**
 * Tells before parsing whether a block of Markdown can be parsed: parsers go down a level for each container and look
 * back for each delimiter, so a few thousand characters can overflow the stack or take seconds. A block beyond these
 * bounds is shown as it was written. One pass over the text; nothing here knows what the parser makes of it.
 */

/** Quotes and lists in each other. Answers have three or four; a parser overflows at some hundred. */
const DEEPEST = 24;

/** Lines, brackets and runs of delimiters in a block: their cost grows with the square. A block of 2,000 characters of
 * links or bold words has less than half as many; so many take a tenth of a second. */
const MOST_MARKS = 600;

/** Cells of a table, those included that a parser adds to short rows. */
const MOST_CELLS = 4000;

/** Runs of delimiters, single brackets and whatever else a parser has to look back or ahead for. */
const MARKS = /\*+|_+|~+|`+|[[\]<&]|\n|@|:\/\//g;

/** One container at the beginning of what is left of a line, with the space around it. */
const CONTAINER = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))/y;

/** Tell whether a block can be parsed. */
export function isBounded(text: string): boolean {
  if (countOf(text, MARKS, MOST_MARKS) > MOST_MARKS) return false;
  const lines = text.split('\n');
  const columns = Math.max(...lines.map((line) => line.split('|').length));
  return columns * lines.length <= MOST_CELLS && lines.every((line) => depthOf(line) <= DEEPEST);
}

/** Count matches, up to just past a limit. */
function countOf(text: string, pattern: RegExp, limit: number): number {
  let count = 0;
  for (const _ of text.matchAll(pattern)) if (++count > limit) break;
  return count;
}

/** Return how many containers a line may open or be in: its markers, and what it is indented by before one. */
function depthOf(line: string): number {
  let markers = 0;
  let at = 0;
  for (; markers <= DEEPEST; markers += 1) {
    CONTAINER.lastIndex = at;
    if (!CONTAINER.test(line)) break;
    at = CONTAINER.lastIndex;
  }
  return markers === 0 ? 0 : markers + indent(line) / 2;
}

function indent(line: string): number {
  return line.length - line.trimStart().length;
}
