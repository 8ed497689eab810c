/**
 * Draws diagrams with mermaid, in the sandboxed frame that `drawDiagram.ts` opens, and answers with pictures: only
 * shapes and words stay, whatever a diagram holds. A picture is shown as an `<img>`, in which nothing can run or be
 * fetched.
 */
import mermaid from 'mermaid';
import type { FrameAnswer } from './drawDiagram';

/** What an author may not change: a diagram's own settings would change how the next one is drawn, or take its time. */
const OURS = [
  'secure',
  'securityLevel',
  'startOnLoad',
  'maxTextSize',
  'maxEdges',
  'suppressErrorRendering',
  'htmlLabels',
  'fontFamily',
  'altFontFamily',
  'themeCSS',
  'themeVariables',
  'theme',
  'look',
  'layout',
  'dompurifyConfig',
  'logLevel',
  'flowchart',
  'sequence',
  'gantt',
  'journey',
  'timeline',
  'class',
  'state',
  'er',
];

// In the light theme; in the dark one the picture is inverted (`diagram.css`), so that one fits both, and a shared
// file.
mermaid.initialize({
  startOnLoad: false,
  securityLevel: 'strict',
  suppressErrorRendering: true,
  secure: OURS,
  maxEdges: 250,
  logLevel: 'fatal',
  htmlLabels: false,
  flowchart: { htmlLabels: false, useMaxWidth: false },
  layout: 'dagre',
  class: { layout: 'dagre' },
  look: 'classic',
  theme: 'neutral',
  fontFamily: 'system-ui, sans-serif',
});

// Only in a frame without an origin: elsewhere this document would draw for whoever opens it, as the server's own.
if (self.origin === 'null') {
  addEventListener('message', async ({ data, ports: [port] }: MessageEvent<string>) => {
    const answer = (message: FrameAnswer) => port?.postMessage(message);
    answer({ kind: 'received' });
    answer({ kind: 'drawn', picture: await draw(data) });
  });
}

let count = 0;

async function draw(source: string): Promise<string | null> {
  const stage = document.body.appendChild(document.createElement('div'));
  try {
    count += 1;
    const { svg } = await mermaid.render(`diagram-${count}`, source, stage);
    return pictureOf(svg);
  } catch {
    return null; // Not mermaid: its source is shown, with a line that says so.
  } finally {
    stage.remove();
  }
}

const SVG = 'http://www.w3.org/2000/svg';

const ELEMENTS = new Set([
  'svg',
  'g',
  'path',
  'rect',
  'circle',
  'ellipse',
  'line',
  'polyline',
  'polygon',
  'text',
  'tspan',
  'defs',
  'marker',
  'title',
  'desc',
  'symbol',
  'use',
  'switch',
  'clipPath',
  'linearGradient',
  'radialGradient',
  'stop',
  'filter',
  'feDropShadow',
  'feFlood',
  'feOffset',
  'feGaussianBlur',
  'feComposite',
  'feMerge',
  'feMergeNode',
]);
/** Addresses may only be places in the picture itself. */
const ADDRESSES = new Set(['href', 'xlink:href', 'src']);
const FETCHES = /url\(|image-set\(|@import|expression\(/i;
const OWN_ADDRESS = /url\(["']?#/gi;
/** Edges longer than this are no picture for a page. */
const LARGEST = 20_000;

/** Return a picture of its own, with its size; null if there is nothing in it. */
function pictureOf(drawn: string): string | null {
  const root = new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement;
  const [, , width = 0, height = 0] = (root.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number);
  if (root.localName !== 'svg' || !(width > 0 && width < LARGEST && height > 0 && height < LARGEST)) return null;
  const picture = document.implementation.createDocument(SVG, 'svg');
  const copied = picture.documentElement;
  copyAttributes(root, copied);
  copied.setAttribute('width', String(Math.ceil(width)));
  copied.setAttribute('height', String(Math.ceil(height)));
  copyChildren(root, copied, picture);
  return new XMLSerializer().serializeToString(picture);
}

/** Return the rules of a style sheet that fetch nothing. */
function safeRules(text: string): string {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const rules = [...sheet.cssRules].filter((rule) => rule instanceof CSSStyleRule || rule instanceof CSSKeyframesRule);
  return rules
    .map(({ cssText }) => cssText)
    .filter((rule) => !FETCHES.test(rule.replace(OWN_ADDRESS, '')))
    .join('\n');
}

function copyChildren(from: Element, into: Element, picture: Document): void {
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) into.append(child.textContent ?? '');
    if (!(child instanceof Element)) continue;
    // A link is what it holds; anything else that is not known here is nothing.
    if (child.localName === 'a') copyChildren(child, into, picture);
    if (child.localName === 'style')
      into.appendChild(picture.createElementNS(SVG, 'style')).append(safeRules(child.textContent ?? ''));
    if (child.namespaceURI !== SVG || !ELEMENTS.has(child.localName)) continue;
    const copied = into.appendChild(picture.createElementNS(SVG, child.localName));
    copyAttributes(child, copied);
    copyChildren(child, copied, picture);
  }
}

function copyAttributes(from: Element, into: Element): void {
  for (const { name, value } of from.attributes) {
    if (name.startsWith('on') || name.startsWith('xmlns')) continue;
    if (ADDRESSES.has(name) && !value.startsWith('#')) continue;
    if (FETCHES.test(value.replace(OWN_ADDRESS, ''))) continue;
    into.setAttribute(name === 'xlink:href' ? 'href' : name, value);
  }
}
