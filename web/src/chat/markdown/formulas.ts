/**
 * Finds formulas in a block of Markdown, and puts short signs in their places: Markdown would take their underscores,
 * stars, bars and backslashes for its own. `Rendered` puts the formulas back, and in code and addresses their source.
 *
 * `\(…\)`, `$$…$$` and `\[…\]` are formulas; the last one only on lines of its own, since `\[` is also how Markdown
 * writes a bracket. `$…$` follows the usual rules (no space inside of its ends, no letter or digit outside of them),
 * and an amount of money is none: `$5 and $10`, `$5-$10`. Nothing of this is looked for in code.
 */

export type Formula = { tex: string; isDisplay: boolean; source: string };

/** A block with signs for its formulas. */
export type WithFormulas = { text: string; formulas: readonly Formula[] };

/** What stands for a formula: its number between two letters of the private area, which Markdown leaves alone. */
export const SIGN = /\uE0F0(\d{1,5})\uE0F1/g;

/** Letters of a formula: a page is not longer. */
const LONGEST = 4000;

const MAYBE = /\$|\\[([]/;

/** Take the formulas out of a block. */
export function takeFormulas(block: string): WithFormulas {
  if (!MAYBE.test(block) || /[\uE0F0\uE0F1]/.test(block)) return { text: block, formulas: [] };
  const formulas: Formula[] = [];
  let text = '';
  let from = 0;
  for (let at = 0; at < block.length; ) {
    const found = formulaAt(block, at);
    if (typeof found === 'number') {
      at = found;
      continue;
    }
    text += `${block.slice(from, at)}\uE0F0${formulas.length}\uE0F1`;
    formulas.push(found);
    at += found.source.length;
    from = at;
  }
  return { text: text + block.slice(from), formulas };
}

/** Put the sources of formulas back, where a sign turned out to stand in code or in an address. */
export function restored(text: string, formulas: readonly Formula[]): string {
  return text.replace(SIGN, (sign, number: string) => formulas[Number(number)]?.source ?? sign);
}

/** Return the formula that begins at a place, or where to look next. */
function formulaAt(text: string, at: number): Formula | number {
  switch (text[at]) {
    case '`':
      return codeEnd(text, at);
    case '\\':
      return (
        (text[at + 1] === '(' ? inParentheses(text, at) : text[at + 1] === '[' ? inBrackets(text, at) : null) ?? at + 2
      );
    case '$':
      return (text[at + 1] === '$' ? inDoubleDollars(text, at) : inDollars(text, at)) ?? at + dollars(text, at);
    default:
      return next(text, at + 1);
  }
}

const BEGINS = /[`\\$]/g;

function next(text: string, at: number): number {
  BEGINS.lastIndex = at;
  return BEGINS.exec(text)?.index ?? text.length;
}

/** Return where code ends: at as many backticks as it began with. If there are none, they are letters. */
function codeEnd(text: string, at: number): number {
  const [run] = /^`+/.exec(text.slice(at, at + 100))!;
  for (let end = text.indexOf(run, at + run.length); end >= 0; end = text.indexOf(run, end)) {
    let after = end;
    while (text[after] === '`') after += 1;
    if (after - end === run.length) return after;
    end = after;
  }
  return at + run.length;
}

function dollars(text: string, at: number): number {
  let end = at;
  while (text[end] === '$') end += 1;
  return end - at;
}

/** Return the formula between two delimiters; null if it does not end, is empty, or has an empty line in it. */
function between(text: string, at: number, opens: string, closes: string, isDisplay: boolean): Formula | null {
  const begin = at + opens.length;
  const end = text.indexOf(closes, begin);
  if (end < 0 || end - begin > LONGEST) return null;
  const tex = text.slice(begin, end);
  if (!tex.trim() || /\n\s*\n/.test(tex)) return null;
  return { tex: unquoted(tex).trim(), isDisplay, source: text.slice(at, end + closes.length) };
}

/** In a quote each line begins with its mark. */
function unquoted(tex: string): string {
  return tex.replace(/\n[ \t]*>[ \t]?/g, '\n');
}

function inParentheses(text: string, at: number): Formula | null {
  return between(text, at, '\\(', '\\)', false);
}

/** Markers of lists and quotes may stand before a formula that has its own lines. */
const LINE_BEGINS = /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?$/;
const LINE_ENDS = /^[ \t]*[.,;]?[ \t]*(?:\n|$)/;

function hasOwnLines(text: string, at: number, end: number): boolean {
  return LINE_BEGINS.test(text.slice(Math.max(0, at - 40), at)) && LINE_ENDS.test(text.slice(end, end + 40));
}

function inBrackets(text: string, at: number): Formula | null {
  const found = between(text, at, '\\[', '\\]', true);
  return found && hasOwnLines(text, at, at + found.source.length) ? found : null;
}

/** What only formulas have. */
const TEX = /[\\^_=]/;

function inDoubleDollars(text: string, at: number): Formula | null {
  if (dollars(text, at) !== 2) return null;
  const found = between(text, at, '$$', '$$', true);
  if (!found || text[at + found.source.length] === '$') return null;
  // `$$ and $$$` are prices of restaurants.
  return TEX.test(found.tex) || hasOwnLines(text, at, at + found.source.length) ? found : null;
}

const WORD = /[\p{L}\p{N}]/u;
const AMOUNT = /^\d[\d.,]*\s*(?:[kKmMbB]n?\b)?(?:$|[\s,;:)–-])/;
const WORDS = /\p{L}{3,}\s+\p{L}{2,}/u;

function inDollars(text: string, at: number): Formula | null {
  if (WORD.test(text[at - 1] ?? '') || /[\s$]/.test(text[at + 1] ?? ' ')) return null;
  const line = text.indexOf('\n', at);
  const end = closingDollar(text, at + 1, Math.min(line < 0 ? text.length : line, at + LONGEST));
  if (end < 0 || /\s/.test(text[end - 1]!) || text[end + 1] === '$' || WORD.test(text[end + 1] ?? '')) return null;
  const tex = text.slice(at + 1, end);
  if (!TEX.test(tex) && (WORDS.test(tex) || (AMOUNT.test(tex) && /\p{L}{2}|[,;:–-]\s*$/u.test(tex)))) return null;
  return { tex, isDisplay: false, source: text.slice(at, end + 1) };
}

/** Return the next dollar that is not escaped; -1 if there is none, or code before it. */
function closingDollar(text: string, from: number, until: number): number {
  for (let at = from; at < until; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '$') return at;
    else if (text[at] === '`') return -1;
  }
  return -1;
}
