/**
 * Builds the document in which diagrams are drawn: mermaid and `src/chat/markdown/diagramFrame.ts` as one inline
 * script, in a file of its own. The page shows it in a sandboxed frame (`drawDiagram.ts`), where it has no origin: it
 * can read nothing of the page, and its policy lets it load nothing. Inline, because requests of such a frame carry no
 * cookies, which a proxy in front of the server may ask for.
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

const ID = 'virtual:diagram-frame';
const RESOLVED = `\0${ID}`;
const ENTRY = fileURLToPath(new URL('./src/chat/markdown/diagramFrame.ts', import.meta.url));

/**
 * What mermaid loads on demand, and never does here: `layout` is always dagre, and formulas in labels would need fonts,
 * which the frame cannot load. Together they would be a third of the document, and elkjs has a licence that asks for
 * more than its text.
 */
const NEVER_LOADED = [{ find: /^(?:elkjs.*|katex)$/, replacement: 'data:text/javascript,export default null' }];

/** The modules that are in the document, for the bill of materials. */
export const modulesOfDocument = new Set<string>();

/** Serves `import url from 'virtual:diagram-frame'`: the address of the document. */
export function diagramDocument(): Plugin {
  return {
    name: 'diagram-document',
    resolveId: (source) => (source === ID ? RESOLVED : null),
    async load(id) {
      if (id !== RESOLVED) return null;
      const source = documentOf(await bundleScript());
      const reference = this.emitFile({ type: 'asset', name: 'diagram-frame.html', source });
      return `export default import.meta.ROLLUP_FILE_URL_${reference};`;
    },
  };
}

async function bundleScript(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    resolve: { alias: NEVER_LOADED },
    build: {
      write: false,
      target: 'es2023',
      modulePreload: false,
      chunkSizeWarningLimit: 5000,
      rolldownOptions: { input: ENTRY, output: { format: 'iife', codeSplitting: false } },
    },
  });
  if (Array.isArray(result) || !('output' in result)) throw new Error('One bundle was expected.');
  const [chunk, ...others] = result.output;
  if (others.length > 0) throw new Error('A frame can load nothing: everything has to be in one script.');
  for (const [id, { renderedLength }] of Object.entries(chunk.modules))
    if (renderedLength > 0) modulesOfDocument.add(id);
  return chunk.code;
}

/**
 * Return a document with a script. What the HTML parser would take for its end, or for a comment, is written
 * otherwise.
 */
function documentOf(code: string): string {
  const script = code.replace(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '\\x3c!--');
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Diagram</title>
<body></body>
<script>${script}</script>
</html>
`;
}
