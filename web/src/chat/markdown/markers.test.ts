import { expect, test } from 'vitest';
import { marked } from './markers';

const grounding = {
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: 9, text: 'Größe ist' }, groundingChunkIndices: [0, 1] },
    { segment: { text: 'nicht da' }, groundingChunkIndices: [0] },
    { segment: { text: 'alles.' }, groundingChunkIndices: [7] },
  ],
};

test('a marker stands behind its words, also where indices count bytes', () => {
  const text = marked('Größe ist alles.', grounding, (chunk) => (chunk < 2 ? chunk + 1 : null));
  expect(text).toBe('Größe ist[1](#source-1)[2](#source-2) alles.');
});

test('without grounding the text is as it was', () => {
  expect(marked('a', undefined, () => 1)).toBe('a');
});
