/** Tokens of model calls in words, by kind. */
import type { CallTokens } from '../film/document';
import { number } from './format';
import * as words from '../words/ui';

const KINDS: readonly [keyof CallTokens, string][] = [
  ['input', 'in'],
  ['cached', words.themCached],
  ['output', 'out'],
  ['reasoning', 'thinking'],
  ['tool', words.fromTools],
];

/** Say `120 in, 60 of them cached, 7 out`; empty without any. */
export function callTokens(tokens: CallTokens): string {
  const said = KINDS.flatMap(([kind, word]) => (tokens[kind] ? [`${number(tokens[kind])} ${word}`] : []));
  return said.length ? words.tokens(said.join(', ')) : tokens.total ? words.tokens(number(tokens.total)) : '';
}

/** Say what something cost, in the currency of the operator's price list; null: a price is missing. Empty without prices. */
export function costWords(cost: number | null | undefined): string {
  if (cost === undefined) return '';
  return cost === null ? words.costUnknownTheModel : words.cost(costNumber(cost));
}

export function costNumber(cost: number): string {
  return cost.toLocaleString('en', { maximumSignificantDigits: 4 });
}
