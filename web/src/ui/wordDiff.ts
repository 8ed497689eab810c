/** Where two texts differ, in whole words. */
export type Pieces = { before: string; a: string; b: string; after: string };

const WORDS = /\s+|[^\s]+/g;

/** Return what two texts have in common at their beginning and end, in whole words, and what is between. */
export function middle(a: string, b: string): Pieces {
  const [ours, theirs] = [a.match(WORDS) ?? [], b.match(WORDS) ?? []];
  const shortest = Math.min(ours.length, theirs.length);
  let start = 0;
  while (start < shortest && ours[start] === theirs[start]) start += 1;
  let end = 0;
  while (end < shortest - start && ours.at(-1 - end) === theirs.at(-1 - end)) end += 1;
  const part = (words: readonly string[]) => words.slice(start, words.length - end).join('');
  return {
    before: ours.slice(0, start).join(''),
    a: part(ours),
    b: part(theirs),
    after: ours.slice(ours.length - end).join(''),
  };
}
