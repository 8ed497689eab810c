/** TeX as MathML, which browsers draw by themselves: no fonts, no styles of ours. Loaded with the first formula. */
// Its own files, since the bundle of them holds chemistry as well, a fifth more.
import temml from 'temml/temml.js';

/** Macros that are expanded in one formula: one that goes on for ever ends here. */
const MOST_MACROS = 500;
/** Lines and spaces, in em and as a share of the page: larger ones would leave it. */
const LARGEST: [number, number] = [20, 1];
/** Elements in each other, and all of them: what a browser lays out without noticing. */
const DEEPEST = 60;
const MOST_ELEMENTS = 4000;

/**
 * Draw a formula into an element; tell whether that could be done. Commands that name addresses or styles are refused.
 */
export function draw(tex: string, isDisplay: boolean, into: HTMLElement): boolean {
  const drawn = document.createElement('span');
  try {
    // Macros that one formula defines are its own.
    temml.render(tex, drawn, {
      displayMode: isDisplay,
      throwOnError: true,
      trust: false,
      strict: false,
      maxExpand: MOST_MACROS,
      maxSize: LARGEST,
      macros: {},
    });
  } catch {
    return false; // No TeX, or more of it than a stack holds: its source is shown.
  }
  if (drawn.getElementsByTagName('*').length > MOST_ELEMENTS || isDeep(drawn)) return false;
  into.replaceChildren(...drawn.childNodes);
  return true;
}

function isDeep(root: Element): boolean {
  let level: Element[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((element) => [...element.children]);
  }
  return false;
}
