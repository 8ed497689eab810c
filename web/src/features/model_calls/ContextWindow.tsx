/** What fills the context window of a model call: a rough measure, since only the model counts its tokens. */
import type { CallTokens, Json } from '@adk-prism/client/film';
import { Details } from '../../ui/elements';
import { compact, number, plural, share } from '../../ui/format';
import { toolsOf, type Content, type ModelRequest } from './modelCalls';

/** In the order in which they are shown. */
const KINDS = [
  'Instruction',
  'Tools',
  'Memory',
  'User',
  'Answers',
  'Other agents',
  'Tool calls',
  'Tool results',
] as const;
export type ContextKind = (typeof KINDS)[number];
export type ContextShare = { kind: ContextKind; characters: number };
export type ContextShares = {
  /** Those that are there. */
  shares: ContextShare[];
  characters: number;
  /** Images and other files: their tokens do not follow from their length. */
  files: number;
};

/** How ADK begins what it tells an agent of another one, and what it puts around memories. */
const OF_OTHERS = 'For context:';
const MEMORY = '<PAST_CONVERSATIONS>';

/** Measure a request by the characters of what is in it. */
export function contextShares(request: ModelRequest): ContextShares {
  const found = new Map<ContextKind, number>();
  const add = (kind: ContextKind, value: unknown) => found.set(kind, (found.get(kind) ?? 0) + lengthOf(value));
  add('Instruction', request.config.systemInstruction);
  for (const [name, declaration] of toolsOf(request)) add('Tools', declaration ?? name);
  let files = 0;
  for (const content of request.contents) {
    for (const part of content?.parts ?? []) {
      if (part.inlineData ?? part.fileData) files++;
      else add(kindOf(content!, part), part.text ?? part.functionCall ?? part.functionResponse ?? part);
    }
  }
  const shares = KINDS.flatMap((kind) => (found.get(kind) ? [{ kind, characters: found.get(kind)! }] : []));
  return { shares, characters: shares.reduce((sum, each) => sum + each.characters, 0), files };
}

function kindOf({ role, parts }: Content, part: { [kind: string]: Json }): ContextKind {
  if (part.functionCall) return 'Tool calls';
  if (part.functionResponse) return 'Tool results';
  if (role === 'model') return 'Answers';
  const first = parts?.[0]?.text;
  if (typeof first === 'string' && first.startsWith(OF_OTHERS)) return 'Other agents';
  return typeof part.text === 'string' && part.text.includes(MEMORY) ? 'Memory' : 'User';
}

function lengthOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'string' ? value.length : JSON.stringify(value).length;
}

/** What fills the context window, by its share of the request's characters. */
export function ContextWindow({ request, tokens }: { request: ModelRequest; tokens: CallTokens }) {
  const { shares, characters, files } = contextShares(request);
  if (shares.length === 0) return null;
  const input = tokens.input ?? 0;
  const more = [
    files > 0 && `${plural(files, 'file')} not measured`,
    tokens.cached && `${number(tokens.cached)} of ${number(input)} tokens came from a cache`,
  ].filter(Boolean);
  return (
    <Details className="section" open summary={<b>Context</b>}>
      {() => (
        <div className="context">
          <div className="context-bar" aria-hidden="true">
            {shares.map((each) => (
              <span key={each.kind} data-context={each.kind} style={{ flexGrow: each.characters }} />
            ))}
          </div>
          <ul>
            {shares.map((each) => (
              <li key={each.kind} data-context={each.kind}>
                {each.kind} <strong>{share(each.characters / characters)}</strong>{' '}
                {Math.round((each.characters / characters) * input) > 0 && (
                  <span className="quiet">{`about ${compact(Math.round((each.characters / characters) * input))} tokens`}</span>
                )}
              </li>
            ))}
          </ul>
          {more.length > 0 && <p className="quiet">{more.join(' · ')}</p>}
        </div>
      )}
    </Details>
  );
}
