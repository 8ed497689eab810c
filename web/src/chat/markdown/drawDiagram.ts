/** Diagrams as pictures. Loaded with the first diagram of an answer that is complete: mermaid is larger than the page. */
import mermaid from 'mermaid';
import { release } from './diagramStyles';
import { pictureOf } from './diagramPicture';
import * as words from '../../words/chat';

/** What an author may not change: a diagram's own settings would reach the page, or take its time. */
const OURS = ['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'suppressErrorRendering', 'htmlLabels', 'fontFamily', 'altFontFamily', 'themeCSS', 'themeVariables', 'theme', 'look', 'layout', 'dompurifyConfig', 'logLevel', 'flowchart', 'sequence', 'gantt', 'journey', 'timeline', 'class', 'state', 'er'];

/** Letters and edges of a diagram that is drawn within a second. */
const MOST_LETTERS = 20_000;
const MOST_EDGES = 250;

// In the light theme; in the dark one the picture is inverted (`diagram.css`), so that one fits both, and a shared file.
mermaid.initialize({
  startOnLoad: false,
  securityLevel: 'strict',
  suppressErrorRendering: true,
  secure: OURS,
  maxTextSize: MOST_LETTERS,
  maxEdges: MOST_EDGES,
  logLevel: 'fatal',
  htmlLabels: false,
  flowchart: { htmlLabels: false, useMaxWidth: false },
  layout: 'dagre',
  class: { layout: 'dagre' },
  look: 'classic',
  theme: 'neutral',
  fontFamily: words.systemUiSansSerif,
});

let count = 0;
let before: Promise<unknown> = Promise.resolve();

/** Draw a diagram; null if its source is none. One after the other: they share a place in the page and a style sheet. */
export function drawDiagram(source: string): Promise<string | null> {
  const drawn = before.then(() => draw(source));
  before = drawn;
  return drawn;
}

async function draw(source: string): Promise<string | null> {
  if (source.length > MOST_LETTERS) return null;
  const stage = document.body.appendChild(document.createElement('div'));
  stage.className = 'diagram-stage';
  stage.inert = true;
  try {
    const { svg } = await mermaid.render(`diagram-${(count += 1)}`, source, stage);
    return pictureOf(svg, release());
  } catch {
    return null; // Not mermaid, or a diagram of another kind: its source is shown, with a line that says so.
  } finally {
    release();
    stage.remove();
  }
}
