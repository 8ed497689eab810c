import { expect, test } from 'vitest';
import { citationMarks, marked } from './citations';
import type { PrismProof } from '@adk-prism/client/ai';

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

const PROOF: PrismProof = {
  subject: { kind: 'answer', name: 'answer' },
  origin: 'computed',
  confidence: 0.6,
  derivation: '',
  readings: [],
  citations: [],
  reasoning_chain: [],
};

function cited(text: string, citations: object[], more: object = {}): string {
  return citationMarks(text, {
    ...PROOF,
    ...more,
    citations: citations.map((one) => ({
      origin: 'computed',
      cursor: 1,
      source: '',
      ...one,
    })) as PrismProof['citations'],
  });
}

test.each([
  [
    'what is named',
    'By 36 CFR 220.6(e)(13), it may fit.',
    { source: '36 CFR 220.6(e)(13)' },
    'By 36 CFR 220.6(e)(13)[1](#proof-1), it may fit.',
  ],
  [
    'a short name of it',
    'By Key & Benson classes.',
    { source: 'Key & Benson 2006, FIREMON' },
    'By Key & Benson[1](#proof-1) classes.',
  ],
  ['its label', 'As found [2].', { source: 'A paper', label: '[2]' }, 'As found [2][1](#proof-1).'],
  [
    'its section',
    '**Severity:** It is high.\n\nMore.',
    { source: 'x', section: 'Severity' },
    '**Severity:** It is high.[1](#proof-1)\n\nMore.',
  ],
  [
    'its heading',
    '## Severity\n\nIt is high.\n\nMore.',
    { source: 'x', section: 'Severity' },
    '## Severity\n\nIt is high.[1](#proof-1)\n\nMore.',
  ],
  ['nothing: it is not named', 'No word of it.', { source: 'Another paper' }, 'No word of it.'],
  ['nothing: it stands in code', 'Run `Another paper` now.', { source: 'Another paper' }, 'Run `Another paper` now.'],
  [
    'nothing: it stands in a link',
    'See [Another paper](https://a.example).',
    { source: 'Another paper' },
    'See [Another paper](https://a.example).',
  ],
  ['nothing: it is part of a word', 'Reporters came.', { source: 'Report' }, 'Reporters came.'],
])('a number behind %s', (_, text, citation, marked) => {
  expect(cited(text, [citation])).toBe(marked);
});

test('a specialist stands behind the section that its score names', () => {
  const more = {
    readings: [{ value: 0.8, text: '', origin: 'parsed', cursor: 1, section: 'Fire (synthetic)' }],
    factors: [{ name: 'burn', cursor: 1, why: 'Fire: the lowest' }],
  };
  expect(
    cited(
      '**Fire (synthetic):** High.',
      [
        { source: 'other', by: 'else' },
        { source: 'map', used_by: ['burn'] },
      ],
      more,
    ),
  ).toBe('**Fire (synthetic):** High.[2](#proof-2)');
});
