/** Times and amounts in words: with their unit, short, and the same everywhere. */
import type { CallTokens } from '@adk-prism/client/film';

/** Tokens of model calls in words, by kind. */
const KINDS: readonly [keyof CallTokens, string][] = [
  ['input', 'in'],
  ['cached', 'of them cached'],
  ['output', 'out'],
  ['reasoning', 'thinking'],
  ['tool', 'from tools'],
];

/** Say `120 in, 60 of them cached, 7 out`; empty without any. */
export function callTokens(tokens: CallTokens): string {
  const said = KINDS.flatMap(([kind, word]) => (tokens[kind] ? [`${number(tokens[kind])} ${word}`] : []));
  return said.length ? `tokens: ${said.join(', ')}` : tokens.total ? `tokens: ${number(tokens.total)}` : '';
}

/**
 * Say what something cost, in the currency of the operator's price list; null: a price is missing. Empty without
 * prices.
 */
export function costWords(cost: number | null | undefined): string {
  if (cost === undefined) return '';
  return cost === null ? 'cost unknown: the model has no price' : `cost ${costNumber(cost)}`;
}

export function costNumber(cost: number): string {
  return cost.toLocaleString('en', { maximumSignificantDigits: 4 });
}

/** Say a cost where there is little room. */
export function costShort(cost: number): string {
  if (cost < 0.0001) return '<0.0001';
  return cost.toLocaleString('en', { maximumFractionDigits: cost < 1 ? 4 : 2 });
}

/** Say a duration: `340 ms`, `6.2 s`, `2 min 05 s`, `3 h 12 min`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** Say how long something worked and how long a person was waited for: `555 ms + 20.1 s waiting`. */
export function tookWords(worked: number, waited: number): string {
  return waited > 0 ? `${duration(worked)} + ${duration(waited)} waiting` : duration(worked);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Say how long ago something was, coarsely. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, now - then);
  if (seconds < 45) return 'just now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(then * 1000).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
}

const UNITS = ['B', 'kB', 'MB', 'GB'] as const;

/** Say a size: `812 B`, `3.4 kB`. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** Say a number: `2,686`. */
export function number(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 2 });
}

/** Say a number in little room: `669`, `2.7k`, `1.2M`. */
export function compact(value: number): string {
  if (value < 1000) return number(value);
  const [scaled, unit] = value < 999_500 ? [value / 1000, 'k'] : [value / 1_000_000, 'M'];
  return `${scaled.toFixed(scaled < 10 ? 1 : 0).replace(/\.0$/, '')}${unit}`;
}

/** Say "1 run", "3 runs". */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : nouns}`;
}

/** Say a name as a person would: `burn_analyst` is "Burn analyst". A name that is written with care stays as it is. */
export function readable(name: string): string {
  if (!/^[a-z0-9_.-]+$/.test(name)) return name;
  const words = name.replaceAll(/[_-]+/g, ' ').trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : name;
}

const AMOUNTS = [
  'no',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];

/** Say a whole number in a sentence: "two", "twelve", "26". */
export function amount(count: number): string {
  return AMOUNTS[count] ?? number(count);
}

/** Say a share of 1 in whole percents; what is not all or nothing does not look so. */
export function share(value: number): string {
  if (value > 0 && value < 0.005) return 'under 1%';
  if (value < 1 && value >= 0.995) return 'over 99%';
  return `${number(Math.round(value * 100))}%`;
}

/** Return an address that may be followed: http and https. Anything else is text, whatever it pretends to be. */
export function safeLink(uri: string | undefined): string | null {
  if (!uri) return null;
  try {
    const { protocol, href } = new URL(uri);
    return protocol === 'http:' || protocol === 'https:' ? href : null;
  } catch {
    return null;
  }
}
