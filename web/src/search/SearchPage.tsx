/** Runs of every app, found by what was said and done in them. The address holds the whole question. */
import { useEffect, useState } from 'react';
import { explain } from '../app/problem';
import { linkTo, useRoute } from '../app/route';
import { OUTCOMES } from '../home/outcomes';
import { Icon } from '../ui/Icon';
import { KindChip } from '../ui/Kind';
import { Time } from '../ui/Time';
import { duration, number, plural } from '../ui/format';
import { costNumber } from '../ui/tokens';
import { FILTERS, fieldsOf, linkToFound, search, type Fields, type FoundRun } from './search';
import * as words from '../words/search';
import '../home/home.css';
import './search.css';

const TYPED_MS = 200;

type State = { runs: FoundRun[]; next: string | null; isPartial: boolean; problem: string; isLoading: boolean };
const NOTHING: State = { runs: [], next: null, isPartial: false, problem: '', isLoading: true };

export default function SearchPage() {
  const [{ options }, move] = useRoute();
  const fields = fieldsOf(options);
  const { state, more } = useSearch(fields);
  const change = (name: string, value: string) => move({ options: { ...options, [name]: value } }, 'replace');
  return (
    <div className="home search-page">
      <h1>{words.searchRuns}</h1>
      <search>
        <input type="search" className="field" autoFocus aria-label={words.text} placeholder={words.wordsInMessagesToolCalls} value={fields.text ?? ''} onChange={(event) => change('text', event.currentTarget.value)} />
        <div className="filters">
          <label>
            {words.outcome}
            <select className="field" value={fields.outcome ?? ''} onChange={(event) => change('outcome', event.currentTarget.value)}>
              <option value="">{words.any}</option>
              {Object.entries(OUTCOMES).map(([name, { word }]) => name !== 'running' && <option key={name} value={name}>{word}</option>)}
            </select>
          </label>
          {FILTERS.map(([name, label, hint]) => (
            <label key={name}>
              {label}
              <input className="field" type={hint === 'date' ? 'date' : 'text'} placeholder={hint} value={fields[name] ?? ''} onChange={(event) => change(name, event.currentTarget.value)} />
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
        {state.isLoading ? words.searching : state.runs.length === 0 ? words.noRunFits : `${plural(state.runs.length, 'run')}${state.next ? ` ${words.andMore}` : ''}`}
        {state.isPartial && ` ${words.someRunsCouldNot}`}
      </p>
      {state.runs.length > 0 && <Results runs={state.runs} fields={fields} />}
      {state.next && (
        <button type="button" className="button" onClick={more}>
          {words.showMore}
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
        (error: unknown) => leaving.signal.aborted || setState({ ...NOTHING, problem: explain(error), isLoading: false }),
      );
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [question]);
  const more = () => {
    search(fields, state.next, new AbortController().signal).then(
      (page) => setState((known) => (known === state ? { ...known, ...page, runs: [...known.runs, ...page.runs] } : known)),
      (error: unknown) => setState((known) => ({ ...known, problem: explain(error) })),
    );
  };
  return { state, more };
}

function Results({ runs, fields }: { runs: readonly FoundRun[]; fields: Fields }) {
  const hasCosts = runs.some(({ cost }) => cost !== undefined);
  return (
    <div className="table" role="region" aria-label={words.runs} tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">{words.message}</th>
            <th scope="col">{words.app}</th>
            <th scope="col">{words.outcome}</th>
            <th scope="col" className="number">
              {words.tokens}
            </th>
            {hasCosts && (
              <th scope="col" className="number">
                {words.cost}
              </th>
            )}
            <th scope="col" className="number">
              {words.duration}
            </th>
            <th scope="col">{words.started}</th>
            <th scope="col">{words.compare}</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((found) => (
            <Result key={found.run} found={found} fields={fields} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Result({ found, fields }: { found: FoundRun; fields: Fields }) {
  const outcome = OUTCOMES[found.outcome];
  const isElsewhere = found.match !== undefined && found.match.in !== 'user';
  return (
    <tr>
      <td>
        <a href={linkToFound(found, fields)}>{found.title || found.run}</a>
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
        <a href={linkTo({ kind: 'compare', a: found.run, b: null })} aria-label={words.compareWithAnotherRun(found.title || found.run)}>
          {words.compareWith}
        </a>
      </td>
    </tr>
  );
}
