/** Colours code. Loaded with the first code that has a language; which languages, decides the size of this part. */
import { createLowlight } from 'lowlight';
import bash from 'highlight.js/lib/languages/bash';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import './code.css';

const LANGUAGES = {
  bash,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  json,
  kotlin,
  markdown,
  python,
  ruby,
  rust,
  shell,
  sql,
  typescript,
  xml,
  yaml,
};

const lowlight = createLowlight(LANGUAGES);

// Their grammars are the same but for a few words.
lowlight.registerAlias({ cpp: ['c', 'h'], typescript: ['javascript', 'js', 'jsx', 'mjs', 'cjs'] });

/** Some letters of one kind; the kind is a class of `code.css`, or empty. */
export type Token = { kind: string; text: string };

type Node = { type: string; value?: string; properties?: { className?: unknown }; children?: Node[] };

/** Return code as tokens that join to it; null for a language that is not known here. */
export function highlight(code: string, language: string): Token[] | null {
  // Behind the name may stand a file's name, or lines to mark.
  const name = language.toLowerCase().split(/[\s:{,]/)[0]!;
  if (!lowlight.registered(name)) return null;
  const tokens: Token[] = [];
  flatten(lowlight.highlight(name, code) as Node, '', tokens);
  return tokens;
}

/** A token in a token, such as a value in a template, has the inner kind. */
function flatten(node: Node, kind: string, tokens: Token[]): void {
  if (node.type === 'text') tokens.push({ kind, text: node.value ?? '' });
  const [named] = Array.isArray(node.properties?.className) ? (node.properties.className as string[]) : [];
  for (const child of node.children ?? []) flatten(child, named ?? kind, tokens);
}
