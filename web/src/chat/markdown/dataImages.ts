/** Pictures that are written into Markdown as data: a short name stands for each, so that no parser reads their letters. */

export type WithImages = { text: string; images: readonly string[] };

/** How the name of a picture begins; only `Rendered` understands it. */
export const DATA_IMAGE = '#image-';

/** Types that a browser shows and never runs, as for artifacts. */
const IMAGE = /(\]\(\s*<?|\]:\s*<?)(data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=_%-]+)/gi;

/** Take the pictures out of a block of Markdown. */
export function takeImages(block: string): WithImages {
  if (!block.includes('data:image/')) return { text: block, images: [] };
  const images: string[] = [];
  const text = block.replace(IMAGE, (_, before: string, image: string) => `${before}${DATA_IMAGE}${images.push(image) - 1}`);
  return { text, images };
}
