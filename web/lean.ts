/**
 * Leaves out of the page what it never runs, but other packages drag along.
 *
 * - zod: the AI SDK describes with it what it checks on servers, and chunks that its own transport reads. The page gives it no
 *   schema and has a transport of its own, so nothing of this is ever asked.
 * - The writer of Markdown: remark-gfm has one beside its reader.
 * - Moves of the graph that take time, and colours between colours: d3-zoom has them for whoever asks for them. The graph
 *   moves at once, and a double click does not zoom it (`GraphPanel`).
 * - The names of SVG's attributes: Markdown has no drawings, and raw HTML is not read.
 * - A copy of what every browser has: `structuredClone`.
 * - The transport that a chat of the AI SDK has where it is given none, and with it the check of every chunk: the page
 *   gives its own, and the server's tests check what it sends.
 */
import type { Plugin } from 'vite';

type Stand = { of: RegExp; code: () => string };

/** Packages of which the graph needs less than diagrams do, by their names. */
const FOR_GRAPH: Record<string, string> = {
  'd3-transition': "import { selection } from 'd3-selection'; selection.prototype.interrupt ??= function () { return this; }; export const interrupt = () => undefined;",
  'd3-interpolate': 'export const interpolate = (from, to) => () => to; export { interpolate as interpolateZoom };',
};
const GRAPH = '\0graph:';
const OF_GRAPH = /[\\/](?:d3-zoom|@xyflow)[\\/]/;

const STANDS: readonly Stand[] = [
  { of: /zod[\\/]v4[\\/]index\.js$/, code: () => unasked(ZOD) },
  { of: /zod[\\/]v4[\\/]core[\\/]index\.js$/, code: () => unasked(['toJSONSchema']) },
  { of: /mdast-util-to-markdown[\\/]index\.js$/, code: () => 'export const defaultHandlers = {}; export const toMarkdown = () => undefined;' },
  { of: /markdown-table[\\/]index\.js$/, code: () => 'export const markdownTable = () => undefined;' },
  { of: /property-information[\\/]lib[\\/]svg\.js$/, code: () => "export const svg = { property: {}, normal: {}, space: 'svg' };" },
  { of: /@ungap[\\/]structured-clone[\\/]esm[\\/]index\.js$/, code: () => 'export default structuredClone;' },
];

/** What the AI SDK imports of zod; the build fails where that becomes more. */
const ZOD = ['any', 'array', 'boolean', 'custom', 'discriminatedUnion', 'enum', 'instanceof', 'json', 'lazy', 'literal', 'looseObject', 'never', 'null', 'number', 'object', 'record', 'safeParseAsync', 'string', 'union', 'unknown'];

/** Names as something that can be called and looked into for ever, and says nothing. */
function unasked(names: readonly string[]): string {
  return ['const nothing = new Proxy(() => nothing, { get: () => nothing });', ...names.map((name) => `export { nothing as ${name} };`)].join('\n');
}

/** Makers of components: one that nobody shows, such as React Flow's small map, is left out. */
export const PURE = ['memo', 'forwardRef', 'createContext'];

/** Expressions of other packages that the page never comes to, by file. Each has to be found, so that none is forgotten. */
const NEVER: readonly { of: RegExp; is: string; instead: string }[] = [
  { of: /node_modules[\\/]ai[\\/]dist[\\/]index\.js$/, is: 'transport = new DefaultChatTransport()', instead: 'transport' },
  { of: /@ai-sdk[\\/]react[\\/]dist[\\/]index\.js$/, is: '(defaultTransport ??= new DefaultChatTransport())', instead: 'defaultTransport' },
];

export function lean(): Plugin {
  return {
    name: 'lean',
    enforce: 'pre',
    resolveId: (source, importer) => (importer && OF_GRAPH.test(importer) && Object.hasOwn(FOR_GRAPH, source) ? `${GRAPH}${source}` : null),
    load: (id) => (id.startsWith(GRAPH) ? FOR_GRAPH[id.slice(GRAPH.length)]! : (STANDS.find(({ of }) => of.test(id))?.code() ?? null)),
    transform(code, id) {
      const never = NEVER.find(({ of }) => of.test(id));
      if (!never) return null;
      if (!code.includes(never.is)) this.error(`${id} has no \`${never.is}\` any more: see NEVER in lean.ts.`);
      return { code: code.replace(never.is, never.instead), map: null };
    },
  };
}

/** What needs a server has no place in a file that has none: chats, the list of apps, signing in. */
const SERVED = /[\\/]src[\\/](?:workspace[\\/]ChatPage|home[\\/]Home|compare[\\/]ComparePage|voice[\\/]VoiceBar|app[\\/](?:SignIn|Account))\.tsx$/;

/** Diagrams are in such a file as pictures: what draws them is larger than all the rest. */
const DRAWS = /[\\/]src[\\/]chat[\\/]markdown[\\/]drawDiagram\.ts$/;

export function alone(): Plugin {
  return {
    name: 'alone',
    enforce: 'pre',
    load: (id) => (SERVED.test(id) ? 'export default () => null;' : DRAWS.test(id) ? 'export const drawDiagram = async () => null;' : null),
  };
}
