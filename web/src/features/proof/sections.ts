/** A proof in sentences: how sure each section is and what it rests on, the weakest first, and what would raise it. */
import type { Factor, Proof, Reading, SourceAbout } from '@adk-prism/client/film';
import { amount, plural, readable, share } from '../../ui/format';
import { type Film, lastUpTo, present } from '../../film/film';

/** What stood behind the answer at a cursor. */
const WHOLE = 'proof';
const CLASSES = ['function call', 'function response', 'model text', 'other'];
const ABSENT: Proof = {
  origin: 'absent',
  confidence: null,
  derivation: 'none stated',
  readings: [],
  citations: [],
  reasoning_chain: [],
};

export type ShownProof = Proof & { since?: number };
export type ProofView = {
  /** Of the whole; null before the run is over. */
  answer: ShownProof | null;
  specialists: ShownProof[];
  sources: (SourceAbout & { cursor: number })[];
  /** Cursor of the entry with which the answer was complete. */
  completion: number | null;
  events: Record<string, number>;
};

export function proofAt(film: Film, at: number): ProofView {
  const ended = film.ended && film.ended.cursor <= at ? film.ended : null;
  const shown = new Map<string, ShownProof>();
  for (const item of film.items.proofs) {
    const mark = lastUpTo(item.marks, at);
    if (mark) shown.set(item.is.id, { ...mark[1], since: mark[0] });
  }
  const counts = new Map(film.items.classes.map((item) => [item.is.id, lastUpTo(item.marks, at)?.[1] ?? 0]));
  return {
    answer: ended ? (shown.get(WHOLE) ?? ABSENT) : null,
    specialists: [...shown].filter(([id]) => id !== WHOLE).map(([, proof]) => proof),
    sources: present(film.items.sources, at).map((item) => ({ ...item.is, cursor: item.since })),
    completion: ended?.completion ?? null,
    events: Object.fromEntries(CLASSES.map((name) => [name, counts.get(name) ?? 0])),
  };
}

export type Section = {
  title: string;
  /** Of a specialist or a tool; null for a section of the answer's text. */
  proof: ShownProof | null;
  confidence: number | null;
  level: string;
  /** What is said of the title, as it follows it. */
  sentence: string;
};

/** Return the sections of an answer, the weakest first; those that say nothing of their confidence come last. */
export function sectionsOf({ answer, specialists }: Pick<ProofView, 'answer' | 'specialists'>): Section[] {
  return specialists.length ? weakestFirst(specialists.map((proof) => ofSpecialist(proof, answer))) : partsOf(answer);
}

/** Return the parts of an answer, or of a section, that say how sure they are, the weakest first. */
export function partsOf(proof: Proof | null): Section[] {
  return weakestFirst(ofReadings(proof));
}

function weakestFirst(sections: Section[]): Section[] {
  return sections.sort((a, b) => rank(a) - rank(b));
}

const LEVELS = ['very low', 'low', 'medium', 'high', 'very high'];

/** Numbers from 0 to 1, then levels, then what states neither. */
function rank({ confidence, level }: Section): number {
  if (confidence !== null) return confidence;
  const place = LEVELS.indexOf(level);
  return place < 0 ? 2 + LEVELS.length : 2 + place;
}

function ofSpecialist(proof: ShownProof, answer: Proof | null): Section {
  const title = titleOf(proof.subject?.name ?? '', answer);
  const { confidence, level = '' } = proof;
  return {
    title,
    proof,
    confidence,
    level,
    sentence: ` ${sourced(title, proof.citations.length)}; ${sureness(title, confidence, level)}.`,
  };
}

/** Return what the answer calls the work of a specialist, where a score of the answer says so, else its name. */
function titleOf(name: string, answer: Proof | null): string {
  const why = answer?.factors?.find((factor) => factor.name === name)?.why ?? '';
  const titles = (answer?.readings ?? []).flatMap(({ section }) => (section ? [section] : []));
  return titles.find((title) => why.startsWith(`${bare(title)}:`)) ?? (readable(name) || 'Unnamed section');
}

/** A title without what stands in brackets behind it. */
function bare(title: string): string {
  return title.replace(/\s*\([^)]*\)\s*$/, '').trim();
}

function ofReadings(answer: Proof | null): Section[] {
  const sections = new Map<string, Section>();
  for (const reading of answer?.readings ?? []) {
    const title = reading.about || reading.section || '';
    if (!title || reading.overall) continue;
    const confidence = leastOf(reading);
    const section = { title, proof: null, confidence, level: reading.level ?? '', sentence: '' };
    const known = sections.get(title);
    if (!known || rank(section) < rank(known)) sections.set(title, section);
  }
  return [...sections.values()].map((section) => {
    const sources = answer?.citations.filter((citation) => citation.section === section.title).length ?? 0;
    const sure = sureness(section.title, section.confidence, section.level);
    return { ...section, sentence: sources ? ` ${sourced(section.title, sources)}; ${sure}.` : `: ${sure}.` };
  });
}

function leastOf({ value, low }: Reading): number | null {
  return value ?? low ?? null;
}

function sourced(title: string, count: number): string {
  const verb = isPlural(title) ? { rest: 'rest', have: 'have' } : { rest: 'rests', have: 'has' };
  return count ? `${verb.rest} on ${sourceCount(count)}` : `${verb.have} no recorded source`;
}

function sureness(title: string, confidence: number | null, level: string): string {
  if (confidence !== null) return `confidence ${share(confidence)}`;
  return level ? `confidence ${level}` : `${isPlural(title) ? 'state' : 'states'} no confidence`;
}

/** Tell whether a title reads as several things: "Trail closures", not "Analysis" or "Progress". */
function isPlural(title: string): boolean {
  return /[^siu]s$/i.test(bare(title));
}

function sourceCount(count: number): string {
  return `${amount(count)} ${count === 1 ? 'source' : 'sources'}`;
}

const ROUNDING = 0.00501; // A text says whole percents.

/** Say how sure the whole answer is and why, in sentences. */
export function wholeSentences(answer: Proof, sections: readonly Section[]): string[] {
  const { confidence, level, origin, citations, uncited = [] } = answer;
  const weakest = sections[0];
  const isWeakest =
    confidence !== null &&
    sections.length > 1 &&
    weakest?.confidence != null &&
    Math.abs(weakest.confidence - confidence) <= ROUNDING;
  const from = origin === 'computed' ? 'Calculated by the agent’s tools.' : 'Stated by the answer itself.';
  return [
    ...(isWeakest ? [`Limited by its weakest section, ${weakest.title}.`] : []),
    confidence !== null || level ? from : 'The answer does not say how sure it is.',
    citations.length ? `It rests on ${sourceCount(citations.length)}.` : 'No source is recorded for it.',
    ...(uncited.length
      ? [`${plural(uncited.length, 'statement')} with figures ${uncited.length === 1 ? 'has' : 'have'} no source.`]
      : []),
  ];
}

export type Raise = { what: string; why: string };

const MOST_RAISES = 3;

/** Return what lowers a confidence most, so that who wants a higher one knows where to begin. */
export function raisesOf(proof: Proof): Raise[] {
  const lowering = [...distinct(weakestFactors(proof)).values()]
    .sort((a, b) => Number(a.effect) - Number(b.effect))
    .slice(0, MOST_RAISES);
  if (lowering.length)
    return lowering.map(({ name, effect, why = '' }) => ({
      what: `${readable(name)} (${share(Number(effect))})`,
      why,
    }));
  return HINTS.flatMap(({ applies, what, why }) => (applies(proof) ? [{ what, why }] : []));
}

const HINTS: readonly (Raise & { applies(proof: Proof): boolean })[] = [
  { applies: ({ citations }) => citations.length === 0, what: 'A source', why: 'without one, nobody can check it' },
  { applies: ({ uncited }) => !!uncited?.length, what: 'Sources for every figure', why: 'some statements have none' },
  {
    applies: ({ disagreements }) => !!disagreements?.length,
    what: 'One number',
    why: 'the text and what it is based on differ',
  },
  {
    applies: ({ confidence, level }) => confidence === null && !level,
    what: 'A stated confidence',
    why: 'the answer gives none',
  },
];

/** The factors of the lowest number that a tool calculated; without such a number, all. */
function weakestFactors({ factors = [], readings }: Proof): Factor[] {
  const lowering = factors.filter(({ effect }) => typeof effect === 'number' && effect >= 0 && effect < 1);
  const computed = readings.filter(
    (reading) => reading.origin === 'computed' && !reading.part && leastOf(reading) !== null,
  );
  const lowest = computed.reduce<Reading | null>(
    (least, one) => (least === null || leastOf(one)! < leastOf(least)! ? one : least),
    null,
  );
  const own = lowering.filter(({ by }) => by === lowest?.text);
  return own.length ? own : lowering;
}

/** Each once by its name, where it lowers most. */
function distinct(factors: readonly Factor[]): Map<string, Factor> {
  const found = new Map<string, Factor>();
  for (const factor of factors) {
    const known = found.get(factor.name);
    if (!known || Number(factor.effect) < Number(known.effect)) found.set(factor.name, factor);
  }
  return found;
}
