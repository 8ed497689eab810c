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

/** Comparisons of words up to which the longest common sequence is looked for: some milliseconds. */
const MOST_COMPARED = 4_000_000;

/** Tell of each word of two texts whether the other one lacks it: those of a longest common sequence are in both. */
export function changedWords(a: readonly string[], b: readonly string[]): { a: boolean[]; b: boolean[] } {
  const changed = { a: a.map(() => true), b: b.map(() => true) };
  const keep = (i: number, j: number) => {
    changed.a[i] = false;
    changed.b[j] = false;
  };
  let start = 0;
  for (; start < a.length && start < b.length && a[start] === b[start]; start++) keep(start, start);
  let [endA, endB] = [a.length, b.length];
  for (; endA > start && endB > start && a[endA - 1] === b[endB - 1]; endA--, endB--) keep(endA - 1, endB - 1);
  const [rows, columns] = [endA - start, endB - start];
  if (rows * columns > MOST_COMPARED) return changed;
  // Lengths of the longest common sequence of what follows, row by row from the end.
  const width = columns + 1;
  const lengths = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const isSame = a[start + i] === b[start + j];
      lengths[i * width + j] = isSame
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (a[start + i] === b[start + j]) keep(start + i++, start + j++);
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  }
  return changed;
}

type Marked = { text: string; isChanged: boolean };

/** Return two texts in pieces: which of them the other text lacks. */
export function markedPieces(a: string, b: string): { a: Marked[]; b: Marked[] } {
  const [ours, theirs] = [wordsOf(a), wordsOf(b)];
  const changed = changedWords(ours.map(bare), theirs.map(bare));
  return { a: joinAlike(ours, changed.a), b: joinAlike(theirs, changed.b) };
}

/** Words, each with the space before it. */
const wordsOf = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];
const bare = (word: string): string => word.trim();

function joinAlike(words: readonly string[], changed: readonly boolean[]): Marked[] {
  const pieces: Marked[] = [];
  for (const [index, text] of words.entries()) {
    const last = pieces.at(-1);
    const isChanged = changed[index] === true;
    if (last?.isChanged === isChanged) last.text += text;
    else pieces.push({ text, isChanged });
  }
  return pieces;
}
