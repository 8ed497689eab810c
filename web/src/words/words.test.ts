// @vitest-environment node
/**
 * What a person reads on the page is in a catalogue, one file for each area beside this one. Here the page's code is searched
 * for texts that are not: between tags, in attributes that are shown or read aloud, and sentences in code.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAst } from 'vite';
import { expect, test } from 'vitest';

type Node = { type: string; start: number; [key: string]: unknown };

const SOURCE = join(import.meta.dirname, '..');
const PHRASE = /[A-Za-z]{2,}[,;:.!?)\]…]* +((a|\d+) +)?[([“`]?[A-Za-z]{2,}/;
const LABEL = /^[A-Z][a-z]+[.…!?:]?$/;
const WORD = /[A-Za-z]{2,}/;

/** Milliseconds: all of the page is read, on a machine that may be busy. */
const PATIENCE = 180_000;

/** Attributes whose texts are shown, or read aloud, whatever they are. Of others, sentences count. */
const SHOWN = /^(title|placeholder|alt|label|summary|aria-(label|description|roledescription|valuetext))$/;
/** Attributes that nobody reads. */
const UNSEEN = /^(className|rel|href|id|role|type|target|key|data-.*|htmlFor|viewBox|d|style|inputMode|autoComplete|kind|icon|look|src|name|as|transform|fill|accept|lang|mode|aria-.*)$/;
/** What a value passes through on its way into a tag or an attribute. */
const THROUGH = new Set(['ConditionalExpression', 'LogicalExpression', 'TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'JSXExpressionContainer']);

/** Texts that look like words and are none, by file. Grows only with a reason. */
const NOT_WORDS: [file: RegExp, text: RegExp, why: string][] = [
  [/./, /textarea|\[role|\[data-|\[type=|prefers-color|contenteditable|translate\(|^auto \0/, 'selectors, queries and styles'],
  [/./, /^(Enter|Escape|Arrow|Bearer \0|Hello)$/, 'keys, a header, a message to an agent'],
  [/./, /^(function (call|response)|model text|none stated|awaiting approval|(input|credential) request|not yet)$/, 'values in data'],
  [/^(main\.tsx|chat\/ChatContext\.ts)$/, /./, 'errors for who changes the page'],
  [/^panels\/timeline\/(keys\.ts|TimelinePanel\.tsx)$/, /^(previous|next|begin|end) (step|event|node|failure|match|peer|range)$/, 'names of actions'],
  [/^(panels\/graph\/layout\.ts|panels\/event\/factKinds\.ts|workspace\/useRoom\.ts|film\/proof\.ts)$/, /./, 'names in data'],
  [/^(home\/connect\.ts|chat\/export\.ts|compare\/ComparePage\.tsx)$/, /\n|^adk-prism |^import |curl|-H|-d|\\/, 'commands and code to copy'],
];

function* pageFiles(folder = SOURCE): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !['words', 'samples', 'generated'].includes(entry.name)) yield* pageFiles(path);
    else if (/\.tsx?$/.test(entry.name) && !/\.(test|d)\.tsx?$|^test[A-Z]/.test(entry.name)) yield path;
  }
}

function* walk(node: Node, above: Node[] = []): Generator<[Node, Node[]]> {
  yield [node, above];
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each?.type === 'string') yield* walk(each as Node, [node, ...above]);
    }
  }
}

/** Return the text of a node that is one; of a template, with NUL for each value. */
function textOf(node: Node): string | null {
  if (node.type === 'JSXText') return String(node.value);
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type !== 'TemplateLiteral') return null;
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('\0');
}

function isShown(node: Node, above: Node[], text: string): boolean {
  const sentence = text.replaceAll('\0', 'xx').replace(/^[\s·]+|[\s·]+$/g, '');
  const says = PHRASE.test(sentence) || LABEL.test(sentence);
  let child = node;
  for (const parent of above) {
    if (parent.type === 'JSXAttribute') {
      const name = String((parent.name as Node).name);
      return SHOWN.test(name) || (says && !UNSEEN.test(name));
    }
    if (parent.type === 'JSXElement' || parent.type === 'JSXFragment') return !isCode(parent);
    if (!THROUGH.has(parent.type) || parent.test === child) break;
    child = parent;
  }
  return says && !isName(node, above);
}

function isCode(element: Node): boolean {
  const opening = element.openingElement as { name: { name: string } } | undefined;
  return /^(code|kbd|pre)$/.test(opening?.name.name ?? '');
}

/** Tell whether a text is the name of something: a module, a type, a key, or what another text is compared with. */
function isName(node: Node, above: Node[]): boolean {
  const parent = above[0]!;
  if (/^(Import|Export|TSLiteral|TaggedTemplate|SwitchCase)/.test(parent.type)) return true;
  if (parent.type === 'BinaryExpression') return parent.operator !== '+';
  if (parent.type === 'Property' || parent.type === 'MemberExpression') return parent.key === node || parent.property === node;
  return above.some(({ type }) => /^TS(Type|Interface|Enum|Union|Property|Literal|Tuple|Array)/.test(type));
}

function uncatalogued(source: string, file: string): string[] {
  const found: string[] = [];
  for (const [node, above] of walk(parseAst(source, { lang: 'tsx' }) as unknown as Node)) {
    const text = textOf(node);
    if (text === null || !WORD.test(text) || !isShown(node, above, text)) continue;
    if (NOT_WORDS.some(([files, texts]) => files.test(file) && texts.test(text))) continue;
    found.push(`${file}:${source.slice(0, node.start).split('\n').length}: ${text.trim()}`);
  }
  return found;
}

test('every text of the page is in a catalogue', () => {
  const found = [...pageFiles()].flatMap((path) => uncatalogued(readFileSync(path, 'utf8'), relative(SOURCE, path)));
  expect(found).toEqual([]);
}, PATIENCE);

test('every entry of a catalogue is used', () => {
  const code = [...pageFiles()].map((path) => readFileSync(path, 'utf8'));
  const unused: string[] = [];
  for (const file of readdirSync(import.meta.dirname).filter((name) => !name.includes('.test.'))) {
    const area = file.replace('.ts', '');
    const users = code.filter((text) => text.includes(`words/${area}'`)).join('\n');
    for (const [, name] of readFileSync(join(import.meta.dirname, file), 'utf8').matchAll(/^export const (\w+) = /gm)) {
      if (!new RegExp(`\\b(words|wording)\\.${name}\\b`).test(users)) unused.push(`${area}: ${name}`);
    }
  }
  expect(unused).toEqual([]);
});

test('the search finds texts between tags, in attributes and in code, and no names', () => {
  const source = `
    const kind: 'some thing' = 'other thing' === x ? y : z;
    const said = 'This is a sentence.';
    const page = <p title="Hint" className="one two">Hello, {name} <code>adk web</code>{late && 'too late'}<img alt={\`Picture of \${name}\`} /></p>;`;
  const texts = uncatalogued(source, 'x.tsx').map((line) => line.split(': ').slice(1).join(': '));
  expect(texts).toEqual(['This is a sentence.', 'Hint', 'Hello,', 'too late', 'Picture of \0']);
});
