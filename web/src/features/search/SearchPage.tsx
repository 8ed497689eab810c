/** Runs of every app, found by what was said and done in them. The address holds the whole question. */
import { useEffect, useState } from 'react';
import { explain, address, call, problemOf } from '../../app/server';
import { linkTo, useRoute, HOME, formatRoute } from '../../app/route';
import { OUTCOMES, KindChip } from '../../ui/Kind';
import { Icon } from '../../ui/Icon';
import { Time } from '../../ui/elements';
import { useTitle } from '../../ui/hooks';
import { duration, number, plural, costNumber } from '../../ui/format';
import type { Outcome } from '@adk-prism/client/film';
import '../../home/home.css';
import './search.css';

/** A search over runs: its fields, which are options of the address, and its pages. */
export type Fields = Readonly<Record<string, string>>;

export type FoundRun = {
  run: string;
  app: string;
  user: string;
  session: string;
  started: number;
  outcome: Outcome;
  /** It waited for a person, and its conversation has gone on. */
  answered?: boolean;
  /** The message that it belongs to: named after its first run. */
  message: string;
  title: string;
  tools: string[];
  agents: string[];
  models: string[];
  errors: string[];
  tokens: number;
  /** Absent without a price list; null: a price is missing. */
  cost?: number | null;
  duration: number;
  match?: { in: string; excerpt: string };
};

export type Page = { runs: FoundRun[]; next: string | null; isPartial: boolean };

/** The fields beside the text, with what is shown for each. */
export const FILTERS: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['tool', 'Tool', 'search_*'],
  ['agent', 'Agent', ''],
  ['model', 'Model', 'gemini*'],
  ['error', 'Error', 'ValueError, or *'],
  ['state', 'State key', ''],
  ['feedback', 'Feedback', 'up, down, any, none'],
  ['app', 'App', ''],
  ['minTokens', 'Tokens from', '10000'],
  ['cost', 'Cost', '0.1..0.5'],
  ['minDuration', 'Seconds from', '30'],
  ['since', 'Since', 'date'],
  ['until', 'Until', 'date'],
];

const NAMES = ['text', 'outcome', 'maxTokens', 'maxDuration', ...FILTERS.map(([name]) => name)];

/** Return the fields of a search that an address has. */
export function fieldsOf(options: Fields): Fields {
  return Object.fromEntries(NAMES.flatMap((name) => (options[name] ? [[name, options[name]]] : [])));
}

/** Return the first page of a search, or the one that an answer named. */
export async function search(fields: Fields, next: string | null, signal: AbortSignal): Promise<Page> {
  const query = next ?? `?${new URLSearchParams({ ...fields, limit: '50' })}`;
  const response = await call(address(`api/runs${query}`), { signal });
  if (!response.ok) throw await problemOf(response);
  const link = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '');
  const isPartial = response.headers.get('x-prism-search') === 'partial';
  return { runs: (await response.json()) as FoundRun[], next: link?.[1] ?? null, isPartial };
}

/** Where a result leads: to the run, with what was looked for as its filter. */
export function linkToFound({ run }: FoundRun, fields: Fields): string {
  const plain = (name: string) => (fields[name]?.includes('*') ? '' : (fields[name] ?? ''));
  const within = plain('tool')
    ? `tool:${plain('tool')}`
    : plain('agent')
      ? `agent:${plain('agent')}`
      : fields.error
        ? 'kind:error'
        : '';
  const options = { find: fields.text ?? plain('state'), in: within };
  return formatRoute({ ...HOME, place: { kind: 'run', run }, options });
}

const TYPED_MS = 200;

type State = { runs: FoundRun[]; next: string | null; isPartial: boolean; problem: string; isLoading: boolean };
const NOTHING: State = { runs: [], next: null, isPartial: false, problem: '', isLoading: true };

export default function SearchPage() {
  useTitle('Runs');
  const [{ options }, move] = useRoute();
  const fields = fieldsOf(options);
  const { state, more } = useSearch(fields);
  const change = (name: string, value: string) => move({ options: { ...options, [name]: value } }, 'replace');
  return (
    <div className="home search-page">
      <h1>Search runs</h1>
      <search>
        <input
          type="search"
          className="field"
          autoFocus
          aria-label="Text"
          placeholder="Words in messages, tool calls and errors"
          value={fields.text ?? ''}
          onChange={(event) => change('text', event.currentTarget.value)}
        />
        <div className="filters">
          <label>
            Outcome
            <select
              className="field"
              value={fields.outcome ?? ''}
              onChange={(event) => change('outcome', event.currentTarget.value)}
            >
              <option value="">any</option>
              {Object.entries(OUTCOMES).map(
                ([name, { word }]) =>
                  name !== 'running' && (
                    <option key={name} value={name}>
                      {word}
                    </option>
                  ),
              )}
            </select>
          </label>
          {FILTERS.map(([name, label, hint]) => (
            <label key={name}>
              {label}
              <input
                className="field"
                type={hint === 'date' ? 'date' : 'text'}
                placeholder={hint}
                value={fields[name] ?? ''}
                onChange={(event) => change(name, event.currentTarget.value)}
              />
            </label>
          ))}
        </div>
      </search>
      {state.problem && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {state.problem}
        </div>
      )}
      <p className="quiet" role="status">
        {state.isLoading
          ? 'Searching…'
          : state.runs.length === 0
            ? 'No matching runs.'
            : state.next
              ? `${number(state.runs.length)}+ runs`
              : plural(state.runs.length, 'run')}
        {state.isPartial && ` Some runs could not be searched: they are not indexed yet, or too old.`}
      </p>
      {state.runs.length > 0 && <Results runs={state.runs} fields={fields} />}
      {state.next && (
        <button type="button" className="button" onClick={more}>
          Show more
        </button>
      )}
    </div>
  );
}

/** Search when the typing rests; what is shown stays until the answer is there. */
function useSearch(fields: Fields): { state: State; more(): void } {
  const [state, setState] = useState(NOTHING);
  const question = JSON.stringify(fields);
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      search(JSON.parse(question) as Fields, null, leaving.signal).then(
        (page) => setState({ ...page, problem: '', isLoading: false }),
        (error: unknown) =>
          leaving.signal.aborted || setState({ ...NOTHING, problem: explain(error), isLoading: false }),
      );
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [question]);
  const more = () => {
    search(fields, state.next, new AbortController().signal).then(
      (page) =>
        setState((known) => (known === state ? { ...known, ...page, runs: [...known.runs, ...page.runs] } : known)),
      (error: unknown) => setState((known) => ({ ...known, problem: explain(error) })),
    );
  };
  return { state, more };
}

function Results({ runs, fields }: { runs: readonly FoundRun[]; fields: Fields }) {
  const hasCosts = runs.some(({ cost }) => cost !== undefined);
  return (
    <div className="table" role="region" aria-label="Runs" tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">Message</th>
            <th scope="col">App</th>
            <th scope="col">Outcome</th>
            <th scope="col" className="number">
              Tokens
            </th>
            {hasCosts && (
              <th scope="col" className="number">
                Cost
              </th>
            )}
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col">Started</th>
            <th scope="col">Compare</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((found) => (
            <Result key={found.run} found={found} fields={fields} title={foundTitle(found, runs)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const ANSWERED = { kind: 'neutral', icon: 'check', word: 'Answered' } as const;

/** Say what a run is of: what the user said, or that it goes on with a message that asked for something. */
export function foundTitle({ run, message, title }: FoundRun, all: readonly FoundRun[]): string {
  if (title) return title;
  const first = all.find((one) => one.run === message)?.title;
  return first ? `${first} (continued)` : message && message !== run ? 'Continues an earlier message' : run;
}

function Result({ found, fields, title }: { found: FoundRun; fields: Fields; title: string }) {
  const outcome = found.answered ? ANSWERED : OUTCOMES[found.outcome];
  const isElsewhere = found.match !== undefined && found.match.in !== 'user';
  return (
    <tr>
      <td>
        <a href={linkToFound(found, fields)}>{title}</a>
        {isElsewhere && <span className="quiet excerpt">{found.match?.excerpt}</span>}
      </td>
      <td>{found.app}</td>
      <td>
        <KindChip {...outcome}>{found.errors[0] ?? outcome.word}</KindChip>
      </td>
      <td className="number">{found.tokens ? number(found.tokens) : '–'}</td>
      {found.cost !== undefined && <td className="number">{found.cost === null ? '–' : costNumber(found.cost)}</td>}
      <td className="number">{duration(found.duration)}</td>
      <td>
        <Time at={found.started} />
      </td>
      <td>
        <a href={linkTo({ kind: 'compare', a: found.run, b: null })} aria-label={`Compare ${title} with another run`}>
          with…
        </a>
      </td>
    </tr>
  );
}
