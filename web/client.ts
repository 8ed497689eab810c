/**
 * Where the page finds `@adk-prism/client`: in its sources, beside the page. So there is nothing to build or install
 * first, and what these import in turn is what the page has installed.
 */
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../packages/client/src', import.meta.url));

export const client = {
  alias: [
    { find: /^@adk-prism\/client$/, replacement: `${SOURCES}/index.ts` },
    { find: /^@adk-prism\/client\/(.*)$/, replacement: `${SOURCES}/$1.ts` },
  ],
  dedupe: ['ai', 'react'],
};
