/** Makes a picture of what was drawn: only shapes and words stay, whatever a diagram holds. */

const SVG = 'http://www.w3.org/2000/svg';

const ELEMENTS = new Set(['svg', 'g', 'path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'text', 'tspan', 'defs', 'marker', 'title', 'desc', 'symbol', 'use', 'switch', 'clipPath', 'linearGradient', 'radialGradient', 'stop', 'filter', 'feDropShadow', 'feFlood', 'feOffset', 'feGaussianBlur', 'feComposite', 'feMerge', 'feMergeNode']);
/** Addresses may only be places in the picture itself. */
const ADDRESSES = new Set(['href', 'xlink:href', 'src']);
/** Edges longer than this are no picture for a page. */
const LARGEST = 20_000;

/** Return a picture of its own, with its size and its styles; null if there is nothing in it. */
export function pictureOf(drawn: string, styles: string): string | null {
  const parsed = new DOMParser().parseFromString(drawn.replaceAll(' style="', ' data-style="'), 'image/svg+xml');
  const root = parsed.documentElement;
  const [, , width = 0, height = 0] = (root.getAttribute('viewBox') ?? '').split(/[\s,]+/).map(Number);
  if (root.localName !== 'svg' || !(width > 0 && width < LARGEST && height > 0 && height < LARGEST)) return null;
  const picture = document.implementation.createDocument(SVG, 'svg');
  const copied = picture.documentElement;
  copyAttributes(root, copied);
  copied.setAttribute('width', String(Math.ceil(width)));
  copied.setAttribute('height', String(Math.ceil(height)));
  copyChildren(root, copied, picture);
  // Styles are put in as text: the page's policy would hold for them as elements and attributes.
  const text = new XMLSerializer().serializeToString(picture).replaceAll(' data-style="', ' style="');
  return text.replace('>', () => `><style>${escaped(styles)}</style>`);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function copyChildren(from: Element, into: Element, picture: Document): void {
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) into.append(child.textContent ?? '');
    if (!(child instanceof Element)) continue;
    // A link is what it holds; anything else that is not known here is nothing.
    if (child.localName === 'a') copyChildren(child, into, picture);
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
    if (/url\(|image-set\(|@import|expression\(/i.test(value.replace(/url\(["']?#/gi, ''))) continue;
    into.setAttribute(name === 'xlink:href' ? 'href' : name, value);
  }
}
