/**
 * What fills the context window of a model call. The model counts its tokens as a whole; a part has as large a share of
 * them as of the request's characters, which is an estimate, and said to be one.
 */
import type { CallTokens, Json } from '@adk-prism/client/film';
import type { CallView } from '../../film/timeline';
import { Details } from '../../ui/elements';
import { callTokens, compact, number, plural, share } from '../../ui/format';
import { differenceOf, toolsOf, type Content, type ModelRequest } from './modelCalls';

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
export type ContextShare = {
  kind: ContextKind;
  characters: number;
  /** Of them, those that the agent's last call did not have. */
  added: number;
};
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

/** Measure a request by the characters of what is in it; with the one before it, also what is new. */
export function contextShares(request: ModelRequest, before: ModelRequest | null = null): ContextShares {
  const { found, files } = measured(request);
  const added = before ? measured(newIn(before, request)).found : new Map<ContextKind, number>();
  const shares = KINDS.flatMap((kind) =>
    found.get(kind) ? [{ kind, characters: found.get(kind)!, added: added.get(kind) ?? 0 }] : [],
  );
  return { shares, characters: shares.reduce((sum, each) => sum + each.characters, 0), files };
}

/** Return what a request has that the one before it had not. */
function newIn(before: ModelRequest, request: ModelRequest): ModelRequest {
  const { added, changes } = differenceOf(before, request);
  const isNew = (what: string) => changes.some((change) => change.what === what);
  const tools = [...toolsOf(request)].filter(([name]) => isNew(`tool ${name}`));
  return {
    config: isNew('systemInstruction') ? { systemInstruction: request.config.systemInstruction } : {},
    tools: tools.length ? [{ functionDeclarations: tools.map(([, declaration]) => declaration) }] : [],
    contents: added,
  };
}

function measured(request: ModelRequest): { found: Map<ContextKind, number>; files: number } {
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
  return { found, files };
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

/** From which share on a window is nearly full. */
const NEARLY_FULL = 0.8;

type Props = {
  request: ModelRequest;
  before: ModelRequest | null;
  tokens: CallTokens;
  /** How many tokens a request to the model can have, where the price list knows it. */
  size?: number;
  /** The calls of the same agent up to this one. */
  calls: readonly CallView[];
};

export function ContextWindow({ request, before, tokens, size, calls }: Props) {
  const { shares, characters, files } = contextShares(request, before);
  if (shares.length === 0) return null;
  const input = tokens.input ?? 0;
  const about = (part: number) => Math.round((part / characters) * input);
  return (
    <Details className="section" open summary={<b>Context</b>}>
      {() => (
        <div className="context">
          <Fill input={input} size={size} />
          <div className="context-bar" aria-hidden="true">
            {shares.map((each) => (
              <span key={each.kind} data-context={each.kind} style={{ flexGrow: each.characters }} />
            ))}
          </div>
          <ul>
            {shares.map((each) => (
              <li key={each.kind} data-context={each.kind}>
                {each.kind} <strong>{share(each.characters / characters)}</strong>{' '}
                {about(each.characters) > 0 && (
                  <span className="quiet">{`about ${compact(about(each.characters))} ${about(each.characters) === 1 ? 'token' : 'tokens'}`}</span>
                )}
                {each.added > 0 && (
                  <b className="new">
                    {each.added === each.characters ? ' new' : ` ${share(each.added / each.characters)} of it new`}
                  </b>
                )}
              </li>
            ))}
          </ul>
          <p className="quiet">
            {[
              callTokens(tokens) && `Counted by the model: ${callTokens(tokens).replace('tokens: ', '')}`,
              'parts are estimated by their characters',
              files > 0 && `${plural(files, 'file')} not measured: their tokens are in the other parts`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
          <Growth calls={calls} />
        </div>
      )}
    </Details>
  );
}

/** How full the window is. */
function Fill({ input, size }: { input: number; size?: number }) {
  if (!size || !input) return null;
  const isNear = input / size > NEARLY_FULL;
  return (
    <p className={isNear ? 'notice' : 'quiet'} data-kind={isNear ? 'approval' : undefined}>
      {`${share(input / size)} of the window of ${number(size)} tokens is full`}
      {isNear && ': what is said from here on may not fit. Compact the history, or pass less to the model.'}
    </p>
  );
}

const SHOWN = 40; // Of many calls, the last ones are what the window grew by.

/** What each call of the agent sent so far. */
function Growth({ calls }: { calls: readonly CallView[] }) {
  const sent = calls.flatMap(({ cursor, tokens }) => (tokens.input ? [{ cursor, input: tokens.input }] : []));
  const shown = sent.slice(-SHOWN);
  if (shown.length < 2) return null;
  const most = Math.max(...shown.map(({ input }) => input));
  const words = `The input of this agent's last ${shown.length} calls: ${number(shown[0]!.input)} to ${number(shown.at(-1)!.input)} tokens`;
  return (
    <>
      <div className="context-growth" role="img" aria-label={words}>
        {shown.map(({ cursor, input }) => (
          <span key={cursor} title={`${number(input)} tokens`} style={{ height: `${(100 * input) / most}%` }} />
        ))}
      </div>
      <p className="quiet" aria-hidden="true">
        {words}
      </p>
    </>
  );
}
