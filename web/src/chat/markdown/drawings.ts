/** Pictures of diagrams, by their sources: each is drawn once. A shared file has those that it was written with. */
import { BLOCK } from '../../film/sharedFile';

/** A picture, as SVG; or why there is none. */
export type Drawing = { picture: string } | { picture: null; why: string };

/** Where a shared file has its pictures: data, by their sources. */
export const DIAGRAMS_BLOCK = 'prism-diagrams';

/** Return what two sources share that draw the same: they may be indented, by a list for instance. */
export function keyOf(source: string): string {
  return source.trim().replace(/[ \t]*\n[ \t]*/g, '\n');
}

/** So many are kept; the oldest go first. */
const KEPT = 200;

const known = new Map<string, Promise<Drawing>>();

/** Return the picture of a diagram. */
export function drawing(source: string): Promise<Drawing> {
  const found = known.get(source) ?? draw(source);
  known.delete(source);
  known.set(source, found);
  if (known.size > KEPT) known.delete(known.keys().next().value!);
  return found;
}

async function draw(source: string): Promise<Drawing> {
  const inFile = embedded();
  if (inFile) {
    const key = keyOf(source);
    const picture = Object.hasOwn(inFile, key) ? inFile[key]! : '';
    return picture.startsWith('<svg')
      ? { picture }
      : { picture: null, why: 'This file does not contain the picture of this diagram.' };
  }
  try {
    const { drawDiagram } = await import('./drawDiagram');
    const picture = await drawDiagram(source);
    return picture ? { picture } : { picture: null, why: 'This diagram could not be drawn.' };
  } catch {
    known.delete(source); // The server is away: it is tried again when the diagram is shown again.
    return { picture: null, why: 'Diagrams could not be loaded.' };
  }
}

/** Return what a shared file has; null where the page has a server. */
function embedded(): Record<string, string> | null {
  if (!document.getElementById(BLOCK)) return null;
  return JSON.parse(document.getElementById(DIAGRAMS_BLOCK)?.textContent ?? '{}') as Record<string, string>;
}
