/** A proof in sentences, for any app: nothing claimed that was not recorded, whatever is missing. */
import { describe, expect, test } from 'vitest';
import type { Proof } from '@adk-prism/client/film';
import { proofAt, partsOf, raisesOf, sectionsOf, wholeSentences } from './sections';
import { golden } from '../../film/testFilms';

const EMPTY: Proof = {
  origin: 'computed',
  confidence: null,
  derivation: '',
  readings: [],
  citations: [],
  reasoning_chain: [],
};
const SOURCE = { source: 'A report', origin: 'computed', cursor: 1 } as const;

function specialist(name: string, about: Partial<Proof> = {}): Proof {
  return { ...EMPTY, subject: { kind: 'specialist', name }, ...about };
}

function told(specialists: Proof[], answer: Proof | null = null): string[] {
  return sectionsOf({ answer, specialists }).map(({ title, sentence }) => title + sentence);
}

test('the weakest section comes first; one without a confidence comes last', () => {
  const found = told([
    specialist('sure', { confidence: 1, citations: [SOURCE] }),
    specialist('silent', { citations: [SOURCE, SOURCE] }),
    specialist('in_prose', { level: 'low' }),
    specialist('trail_closures', { confidence: 0.7614, citations: [SOURCE, SOURCE] }),
    specialist('none', { confidence: 0 }),
    specialist('nearly', { confidence: 0.9999, citations: [SOURCE] }),
  ]);
  expect(found).toEqual([
    'None has no recorded source; confidence 0%.',
    'Trail closures rest on two sources; confidence 76%.',
    'Nearly rests on one source; confidence over 99%.',
    'Sure rests on one source; confidence 100%.',
    'In prose has no recorded source; confidence low.',
    'Silent rests on two sources; states no confidence.',
  ]);
});

test('a section has the title that the answer gives it, where a score says so', () => {
  const answer: Proof = {
    ...EMPTY,
    factors: [{ name: 'cruiser', cursor: 1, why: 'Timber: the lowest of its findings.' }],
    readings: [{ value: 0.6, text: '', origin: 'parsed', cursor: 1, section: 'Timber (synthetic)' }],
  };
  expect(told([specialist('cruiser', { confidence: 0.6 })], answer)).toEqual([
    'Timber (synthetic) has no recorded source; confidence 60%.',
  ]);
});

describe('the whole answer', () => {
  test.each<[string, Partial<Proof>, string]>([
    ['nothing', {}, 'The answer does not say how sure it is. No source is recorded for it.'],
    [
      'words',
      { level: 'medium', origin: 'parsed', citations: [SOURCE] },
      'Stated by the answer itself. It rests on one source.',
    ],
    ['nothing at all', { confidence: 0 }, 'Calculated by the agent’s tools. No source is recorded for it.'],
    [
      'figures without a source',
      { confidence: 1, uncited: [{ text: '1' }] },
      'Calculated by the agent’s tools. No source is recorded for it. 1 statement with figures has no source.',
    ],
  ])('%s', (_, about, sentences) => {
    expect(wholeSentences({ ...EMPTY, ...about }, []).join(' ')).toBe(sentences);
  });

  test('says which section decides, where that is so', () => {
    const sections = sectionsOf({
      answer: null,
      specialists: [specialist('a', { confidence: 0.5 }), specialist('b', { confidence: 0.9 })],
    });
    expect(wholeSentences({ ...EMPTY, confidence: 0.5 }, sections)[0]).toBe('Limited by its weakest section, A.');
    expect(wholeSentences({ ...EMPTY, confidence: 0.7 }, sections)[0]).toBe('Calculated by the agent’s tools.');
  });
});

test('what would raise it: the lowest factors of the number that counts, each once', () => {
  const factor = (name: string, effect: unknown, by: string) => ({
    name,
    effect: effect as number,
    by,
    cursor: 1,
    why: `about ${name}`,
  });
  const reading = (value: number, text: string) => ({ value, text, origin: 'computed', cursor: 1 }) as const;
  const proof = specialist('x', {
    confidence: 0.4,
    citations: [SOURCE],
    readings: [reading(0.8, 'other_tool'), reading(0.4, 'tool')],
    factors: [
      factor('data_age', 0.9, 'tool'),
      factor('seen', 0.5, 'tool'),
      factor('full', 1, 'tool'),
      factor('odd', 'much', 'tool'),
      factor('lower', 0.1, 'other_tool'),
      factor('seen', 0.5, 'tool'),
    ],
  });
  expect(raisesOf(proof)).toEqual([
    { what: 'Seen (50%)', why: 'about seen' },
    { what: 'Data age (90%)', why: 'about data_age' },
  ]);
  expect(raisesOf({ ...EMPTY, confidence: 1, citations: [SOURCE] })).toEqual([]);
  expect(raisesOf(EMPTY).map(({ what }) => what)).toEqual(['A source', 'A stated confidence']);
});

test('parts by the hundred are one each, and real proofs have no internals in their sentences', () => {
  const readings = Array.from(
    { length: 200 },
    (_, index) =>
      ({ value: (index % 100) / 100, text: '', origin: 'parsed', cursor: 1, about: `Part ${index % 150}` }) as const,
  );
  expect(partsOf({ ...EMPTY, readings })).toHaveLength(150);
  const film = golden('raw-x_recovery_capture');
  const view = proofAt(film, film.last);
  const sections = sectionsOf(view);
  expect(sections.length).toBeGreaterThan(1);
  for (const text of [
    ...sections.map(({ title, sentence }) => title + sentence),
    ...wholeSentences(view.answer!, sections),
  ])
    expect(text).not.toMatch(/_|\d\.\d{3}/);
});
