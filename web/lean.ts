/**
 * Leaves out of the page what it never runs: zod's translation of schemas into JSON Schema, which every schema drags
 * along. The AI SDK uses it on servers, to tell models of tools; a page only checks what it was sent.
 */
import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

const UNUSED = /zod[\\/]v4[\\/]core[\\/](?:to-json-schema|json-schema-processors)\.js$/;
const EXPORTED = /^export (?:async )?(?:function|const) (\w+)|^export \{ \w+ as (\w+) \}/gm;

export function lean(): Plugin {
  return {
    name: 'lean',
    enforce: 'pre',
    load(id) {
      if (!UNUSED.test(id)) return null;
      const names = [...readFileSync(id, 'utf-8').matchAll(EXPORTED)].map((match) => match[1] ?? match[2]);
      return ['const left = () => undefined;', ...names.map((name) => `export { left as ${name} };`)].join('\n');
    },
  };
}
