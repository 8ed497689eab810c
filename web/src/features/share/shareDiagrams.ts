/** Puts the pictures of a run's diagrams into its shared file, which is too small for what draws them. */
import { DIAGRAMS_BLOCK, drawing, keyOf } from '../../chat/markdown/drawings';
import { conversationAt } from '../../film/conversation';
import { BLOCK, type Shared } from '../../film/sharedFile';

/** Diagrams of one file. */
const MOST = 100;

const FENCE = /^[ \t>]*(`{3,}|~{3,})[ \t]*mermaid[ \t]*\n([\s\S]*?)^[ \t>]*\1[`~]*[ \t]*$/gim;

/** Return the sources of the diagrams in a text. */
export function diagramsIn(text: string): string[] {
  return [...text.matchAll(FENCE)].map((match) => match[2]!.replace(/^[ \t]*>[ \t]?/gm, '').trimEnd());
}

/** Return a shared file with pictures of its diagrams; without any, as it was. */
export async function withDiagrams(file: string): Promise<string> {
  const opening = `<script type="application/json" id="${BLOCK}">`;
  const begin = file.indexOf(opening) + opening.length;
  const end = file.indexOf('</script>', begin);
  if (begin < opening.length || end < 0) return file;
  const { film } = JSON.parse(file.slice(begin, end)) as Shared;
  const texts = conversationAt(film, Infinity).map(({ text }) => (typeof text === 'string' ? text : ''));
  const pictures: Record<string, string> = {};
  for (const source of texts.flatMap(diagramsIn).slice(0, MOST)) {
    const { picture } = await drawing(source);
    if (picture) pictures[keyOf(source)] = picture;
  }
  if (Object.keys(pictures).length === 0) return file;
  const data = JSON.stringify(pictures)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  const after = end + '</script>'.length;
  return `${file.slice(0, after)}
<script type="application/json" id="${DIAGRAMS_BLOCK}">${data}</script>${file.slice(after)}`;
}
