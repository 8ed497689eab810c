/**
 * Fits mermaid into the page: into its size, and under its policy.
 *
 * - Of its diagrams those are built in that answers have, and that need no second parser (140 kB): see `DRAWN`. Other
 *   layouts than dagre, and formulas in labels, are left out too.
 * - The policy lets no text become a style. An attribute `style` is so set through the object model, and the style sheet
 *   of a diagram is handed to `diagramStyles.ts`. Both mean the same.
 *
 * Where the text of the packages is not as expected, the build fails.
 */
import path from 'node:path';
import type { Plugin } from 'vite';

/** Chunks of diagrams, and of what they share. */
const DRAWN = /^(?:flowDiagram|sequenceDiagram|classDiagram-v2|stateDiagram-v2|erDiagram|ganttDiagram|timeline-definition|journeyDiagram|dagre|sizeCapture|chunk)$/;
const CHUNK = /\/([\w-]+)-[A-Z0-9]{8}\.mjs$/;
const LEFT_OUT = '\0diagram-left-out';

const STYLES = path.join(import.meta.dirname, 'src', 'chat', 'markdown', 'diagramStyles.ts');
const SET_STYLE = 'const setOn = (element, name, value) => (name === "style" && element.style ? (element.style.cssText = value) : element.setAttribute(name, value));\n';

type Edit = { of: RegExp; begin?: string; edits: readonly (readonly [from: string, to: string])[] };

const EDITS: readonly Edit[] = [
  {
    of: /d3-selection[\\/]dist[\\/]d3-selection\.mjs$/,
    begin: SET_STYLE,
    edits: [
      ['this.setAttribute(name, value);', 'setOn(this, name, value);'],
      ['else this.setAttribute(name, v);', 'else setOn(this, name, v);'],
    ],
  },
  {
    of: /mermaid[\\/]dist[\\/]mermaid\.core\.mjs$/,
    begin: `import { adopt } from ${JSON.stringify(STYLES)};\n`,
    edits: [
      ['style1.innerHTML = rules;', 'adopt(rules, id38);'],
      ['svg.insertBefore(style1, firstChild);', ''],
      // It parses, and so would have styles applied; `diagramPicture.ts` lets less through than it does.
      ['} else if (!isLooseSecurityLevel) {', '} else if (false) {'],
    ],
  },
];

/** In chunks, whose names change with every release. */
const STYLE_ATTRIBUTE = /(\w+)\.setAttribute\("style", (\w+)\)/g;

export function diagrams(): Plugin {
  return {
    name: 'diagrams',
    enforce: 'pre',
    resolveId(source, importer) {
      if (!importer || !/[\\/]mermaid[\\/]dist[\\/]/.test(importer)) return null;
      const chunk = CHUNK.exec(source)?.[1];
      return (chunk && !DRAWN.test(chunk)) || source === 'katex' ? LEFT_OUT : null;
    },
    load: (id) => (id === LEFT_OUT ? "throw new Error('This kind of diagram is not drawn here.');" : null),
    transform(code, id) {
      const edit = EDITS.find(({ of }) => of.test(id));
      if (edit) return edited(code, edit);
      return /[\\/]mermaid[\\/]dist[\\/]chunks[\\/]/.test(id) ? code.replace(STYLE_ATTRIBUTE, '$1.style.cssText = $2') : null;
    },
  };
}

function edited(code: string, { of, begin = '', edits }: Edit): string {
  for (const [from, to] of edits) {
    if (code.split(from).length !== 2) throw new Error(`${of} does not contain once: ${from}`);
    code = code.replace(from, () => to);
  }
  return begin + code;
}
