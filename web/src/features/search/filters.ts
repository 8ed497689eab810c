/**
 * Filters of runs, as they are typed and as an address has them: `agent:planner` is the field `agent`, `tokens>1000` the
 * field `minTokens`. What is typed and is no filter is text to search for.
 */
import { plural } from '../../ui/format';

/** A search over runs: its fields, which are options of the address. */
export type Fields = Readonly<Record<string, string>>;

type Sign = ':' | '>' | '<';

export type FilterSpec = {
  /** As it is typed. */
  name: string;
  /** The field of each sign that it takes. */
  fields: Partial<Record<Sign, string>>;
  /** What it finds, for whoever sees it for the first time. */
  hint: string;
  /** Values that are offered. */
  values?: readonly string[];
};

export const FILTERS: readonly FilterSpec[] = [
  {
    name: 'outcome',
    fields: { ':': 'outcome' },
    hint: 'how it ended',
    values: ['finished', 'failed', 'waiting', 'cancelled', 'incomplete'],
  },
  { name: 'agent', fields: { ':': 'agent' }, hint: 'an agent that ran' },
  { name: 'tool', fields: { ':': 'tool' }, hint: 'a tool that was called; search_* for several' },
  { name: 'app', fields: { ':': 'app' }, hint: 'runs of one app' },
  { name: 'model', fields: { ':': 'model' }, hint: 'a model that answered' },
  { name: 'error', fields: { ':': 'error' }, hint: 'an error, such as ValueError; * for any' },
  { name: 'state', fields: { ':': 'state' }, hint: 'a state key that was set' },
  {
    name: 'feedback',
    fields: { ':': 'feedback' },
    hint: 'what people said about it',
    values: ['up', 'down', 'any', 'none'],
  },
  { name: 'tokens', fields: { '>': 'minTokens', '<': 'maxTokens' }, hint: 'tokens>10000, tokens<500' },
  { name: 'duration', fields: { '>': 'minDuration', '<': 'maxDuration' }, hint: 'seconds: duration>30' },
  { name: 'cost', fields: { ':': 'cost', '>': 'cost', '<': 'cost' }, hint: 'cost>0.1, cost:0.1..0.5' },
  {
    name: 'since',
    fields: { ':': 'since' },
    hint: 'started after: 2d, 12h, 2026-01-31',
    values: ['1h', '1d', '7d', '30d'],
  },
  { name: 'until', fields: { ':': 'until' }, hint: 'started before: 2d, 2026-01-31' },
  { name: 'user', fields: { ':': 'user' }, hint: 'runs of one user' },
  { name: 'session', fields: { ':': 'session' }, hint: 'runs of one conversation, by its id' },
];

const NAMES: ReadonlySet<string> = new Set(['text', 'sort', ...FILTERS.flatMap(({ fields }) => Object.values(fields))]);

/** Return the fields of a search that an address has. */
export function fieldsOf(options: Fields): Fields {
  return Object.fromEntries(Object.entries(options).filter(([name, value]) => NAMES.has(name) && value));
}

// Words, where quotes keep spaces inside: `error:"Out of memory"`.
const WORDS = /(?:[^\s"]|"[^"]*"?)+/g;
const FILTER = /^([a-z]+)(:|>=?|<=?)(.*)$/i;

/** Read a word as a filter; null: it is text to search for. The value may be missing yet. */
function read(word: string): { spec: FilterSpec; sign: Sign; value: string } | null {
  const [, name = '', sign = ''] = FILTER.exec(word) ?? [];
  const spec = FILTERS.find((one) => one.name === name.toLowerCase());
  const first = sign[0] as Sign | undefined;
  if (!spec || !first || !spec.fields[first]) return null;
  return { spec, sign: first, value: word.slice(name.length + sign.length).replaceAll('"', '') };
}

/** Return what is typed without its filters: the text that is searched for. */
export function textIn(typed: string): string {
  return (typed.match(WORDS) ?? []).filter((word) => !read(word)).join(' ');
}

/** Return the fields with all filters that are typed, and the text that is left. */
export function withTyped(fields: Fields, typed: string): Fields {
  let next: Fields = fields;
  for (const word of typed.match(WORDS) ?? []) {
    const filter = read(word);
    if (filter?.value) next = added(next, filter.spec, filter.sign, filter.value);
  }
  return { ...next, text: textIn(typed) };
}

function added(fields: Fields, spec: FilterSpec, sign: Sign, value: string): Fields {
  const field = spec.fields[sign]!;
  if (field !== 'cost' || sign === ':') return { ...fields, [field]: value };
  const [least = '', most = ''] = (fields.cost ?? '').split('..');
  return { ...fields, cost: sign === '>' ? `${value}..${most}` : `${least}..${value}` };
}

export type Chip = { field: string; text: string };

/** Return the filters of a search as chips, in the order of the table. */
export function chipsOf(fields: Fields): Chip[] {
  return FILTERS.flatMap(({ name, fields: own }) =>
    Object.entries(own)
      .filter(([sign, field]) => fields[field] && (name !== 'cost' || sign === ':'))
      .map(([sign, field]) => ({ field, text: `${name}${sign}${quoted(fields[field]!)}` })),
  );
}

function quoted(value: string): string {
  return /\s/.test(value) ? `"${value}"` : value;
}

/** Names that runs have, by kind, with how many runs have each. */
export type Names = Readonly<Record<string, readonly (readonly [name: string, count: number])[]>>;

/** What may stand in the place of the last word; one that is not whole waits for its value. */
export type Suggestion = { text: string; hint: string; isWhole: boolean };

const MOST = 12;

/** Return what can be meant by the last word that is typed. */
export function suggestions(typed: string, names: Names, fields: Fields): Suggestion[] {
  const word = lastWord(typed);
  const filter = read(word);
  if (filter) return values(filter.spec, names, filter.value).slice(0, MOST);
  const begun = FILTERS.filter(({ name }) => name.startsWith(word.toLowerCase()))
    .filter(({ fields: own }) => word || !Object.values(own).every((field) => fields[field]))
    .map(({ name, fields: own, hint }) => {
      return { text: `${name}${Object.keys(own)[0]}`, hint, isWhole: false };
    });
  if (word.length < 2) return begun;
  return [...begun, ...FILTERS.flatMap((spec) => values(spec, names, word))].slice(0, MOST);
}

function values(spec: FilterSpec, names: Names, begun: string): Suggestion[] {
  const known = spec.values?.map((value) => [value, 0] as const) ?? names[spec.name] ?? [];
  return known
    .filter(([value]) => value.toLowerCase().includes(begun.toLowerCase()))
    .map(([value, count]) => ({
      text: `${spec.name}:${quoted(value)}`,
      hint: count ? plural(count, 'run') : '',
      isWhole: true,
    }));
}

function lastWord(typed: string): string {
  const last = typed.match(WORDS)?.at(-1) ?? '';
  return typed.endsWith(last) ? last : '';
}

/** Put a suggestion in the place of the last word. */
export function completed(typed: string, { text }: Suggestion): string {
  return typed.slice(0, typed.length - lastWord(typed).length) + text;
}
