// Writes src/schemas.ts, zod schemas of the types in src/prism.ts: `node scripts/schemas.mjs > src/schemas.ts`.
//
// Those types are written by `adk-prism types` and use a small part of TypeScript: object literals, arrays, unions,
// literals, index signatures and each other's names. Anything else is an error.
import { readFileSync } from 'node:fs';

const PLAIN = {
  string: 'z.string()',
  number: 'z.number()',
  boolean: 'z.boolean()',
  null: 'z.null()',
  JsonValue: 'z.json()',
};
/** Types that are not of ours alone. */
const OTHERS = ['JsonValue', 'PrismUIMessage'];

const source = readFileSync(new URL('../src/prism.ts', import.meta.url), 'utf8').replace(
  /\/\*\*[\s\S]*?\*\/|^\/\/.*$/gm,
  '',
);

class Reader {
  constructor(text) {
    this.tokens = text.match(/'[^']*'|"[^"]*"|[A-Za-z_][\w-]*|[{}[\]:;|?]/g);
    this.at = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  take(expected) {
    const token = this.tokens[this.at++];
    if (expected !== undefined && token !== expected) throw new Error(`expected ${expected}, got ${token}`);
    return token;
  }

  type() {
    const found = [this.array()];
    while (this.next === '|') {
      this.take();
      found.push(this.array());
    }
    if (found.length === 1) return found[0];
    const literals = found.map((each) => /^z\.literal\((.*)\)$/.exec(each)?.[1]);
    return literals.includes(undefined) ? `z.union([${found.join(', ')}])` : `z.enum([${literals.join(', ')}])`;
  }

  array() {
    let found = this.next === '{' ? this.object() : this.name();
    while (this.next === '[') {
      this.take('[');
      this.take(']');
      found = `z.array(${found})`;
    }
    return found;
  }

  name() {
    const token = this.take();
    if (/^['"]/.test(token)) return `z.literal(${token})`;
    if (token in PLAIN) return PLAIN[token];
    if (!token.startsWith('Prism')) throw new Error(`${token} is no type of ours`);
    return constant(token);
  }

  object() {
    this.take('{');
    if (this.next === '[') return this.record();
    const members = [];
    while (this.next !== '}') {
      const key = this.take();
      const isOptional = this.next === '?' && this.take();
      this.take(':');
      members.push(`${key}: ${this.type()}${isOptional ? '.optional()' : ''}`);
      if (this.next === ';') this.take();
    }
    this.take('}');
    return `z.looseObject({ ${members.join(', ')} })`;
  }

  record() {
    for (const token of ['[', 'key', ':', 'string', ']', ':']) this.take(token);
    const values = this.type();
    this.take('}');
    return `z.record(z.string(), ${values})`;
  }
}

const constant = (name) => name[0].toLowerCase() + name.slice(1);

const lines = [
  '// Zod schemas of the types in prism.ts. Written by scripts/schemas.mjs. Keys that they do not know are kept.',
  "import * as z from 'zod';",
];
for (const [, name, text] of source.matchAll(/export type (\w+)(?:<[^>]*>)? =([\s\S]*?);\n(?=\n|$)/g)) {
  if (!OTHERS.includes(name)) lines.push('', `export const ${constant(name)} = ${new Reader(text).type()};`);
}
process.stdout.write(`${lines.join('\n')}\n`);
