/** What is done to parsed Markdown before it is drawn: HTML becomes text, footnotes numbers, signs formulas. */
import type { Element, ElementContent, Root as Html } from 'hast';
import type { Nodes, Parent, PhrasingContent, Root } from 'mdast';
import { defaultSchema } from 'rehype-sanitize';
import { FOOTNOTE } from './Footnotes';
import { footnoteName } from './blocks';
import { restored, SIGN, type Formula } from './formulas';

// Tells before parsing whether a block of Markdown can be parsed: parsers go down a level for each container and look
// back for each delimiter, so a few thousand characters can overflow the stack or take seconds. A block beyond these
// bounds is shown as it was written. One pass over the text; nothing here knows what the parser makes of it.

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

/** What is let through: as for GitHub, with the line ends of text that was HTML. */
export const SCHEMA = {
  ...defaultSchema,
  attributes: { ...defaultSchema.attributes, p: [['className', 'plain']] },
} as typeof defaultSchema;

/** Show HTML as it was written. A break is one where there is no other way to write it: in a table. */
export function htmlAsText() {
  return (tree: Root) =>
    replaceIn(tree, 'root', (node, parent) => {
      if (node.type !== 'html') return null;
      if (parent === 'tableCell' && /^<br\s*\/?>$/i.test(node.value)) return [{ type: 'break' }];
      const text: PhrasingContent = { type: 'text', value: node.value };
      if (
        ['paragraph', 'heading', 'tableCell', 'emphasis', 'strong', 'delete', 'link', 'linkReference'].includes(parent)
      )
        return [text];
      return [{ type: 'paragraph', children: [text], data: { hProperties: { className: ['plain'] } } }];
    });
}

/** Put numbers in the place of footnotes' names, and leave out what stands at the answer's end. */
export function footnotesAsNumbers(numbers: ReadonlyMap<string, number>) {
  return (tree: Root) =>
    replaceIn(tree, 'root', (node) => {
      if (node.type === 'footnoteReference') {
        const number = numbers.get(footnoteName(node.label ?? node.identifier));
        return number === undefined
          ? [{ type: 'text', value: `[^${node.label}]` }]
          : [{ type: 'link', url: `${FOOTNOTE}${number}`, children: [{ type: 'text', value: String(number) }] }];
      }
      if (node.type !== 'footnoteDefinition') return null;
      // While a text is written its footnotes have no numbers yet, and stand where they are.
      return numbers.size > 0
        ? []
        : [{ type: 'paragraph', children: [{ type: 'text', value: `[^${node.label}]:` }] }, ...node.children];
    });
}

type Replace = (node: Nodes, parent: string) => Nodes[] | null;

function replaceIn(parent: Nodes, type: string, replace: Replace): void {
  if (!('children' in parent)) return;
  const children = (parent.children as Nodes[]).flatMap((node) => replace(node, type) ?? [node]);
  (parent as Parent).children = children as Parent['children'];
  for (const child of children) replaceIn(child, child.type, replace);
}

/** Put formulas in the place of their signs; in code and in attributes, their sources. */
export function signsAsFormulas(formulas: readonly Formula[]) {
  return (tree: Html) => {
    if (formulas.length > 0)
      tree.children = tree.children.flatMap((node) => withFormulas(node as ElementContent, formulas, false));
  };
}

function withFormulas(node: ElementContent, formulas: readonly Formula[], isCode: boolean): ElementContent[] {
  if (node.type === 'text')
    return isCode ? [{ type: 'text', value: restored(node.value, formulas) }] : split(node.value, formulas);
  if (node.type !== 'element') return [node];
  for (const [name, value] of Object.entries(node.properties))
    if (typeof value === 'string') node.properties[name] = restored(decoded(value), formulas);
  node.children = node.children.flatMap((child) => withFormulas(child, formulas, isCode || node.tagName === 'code'));
  return [node];
}

/** Addresses have their letters escaped. */
function decoded(value: string): string {
  return value.replaceAll('%EE%83%B0', '\uE0F0').replaceAll('%EE%83%B1', '\uE0F1');
}

function split(text: string, formulas: readonly Formula[]): ElementContent[] {
  const found: ElementContent[] = [];
  let from = 0;
  for (const match of text.matchAll(SIGN)) {
    const formula = formulas[Number(match[1])];
    if (!formula) continue;
    if (match.index > from) found.push({ type: 'text', value: text.slice(from, match.index) });
    found.push({ type: 'element', tagName: 'formula', properties: { ...formula }, children: [] } satisfies Element);
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ type: 'text', value: text.slice(from) });
  return found;
}
