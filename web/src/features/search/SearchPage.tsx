/** Runs of every app in one table, with filters, trends and saved views. The address holds the whole question. */
import { useEffect, useState } from 'react';
import { useCommands } from '../../app/commands';
import { useServerData } from '../../app/query';
import { go, parseRoute, useRoute } from '../../app/route';
import { explain } from '../../app/server';
import { Empty } from '../../ui/elements';
import { number, plural } from '../../ui/format';
import { useTitle } from '../../ui/hooks';
import { Icon } from '../../ui/Icon';
import { FilterBox } from './FilterBox';
import { chipsOf, fieldsOf, type Fields, type Names } from './filters';
import { RunsTable } from './RunsTable';
import { loadTrends, search, type FoundRun } from './runs';
import { linkToView, SavedViews, useSavedViews } from './SavedViews';
import { TrendCharts } from './TrendCharts';
import '../../home/home.css';
import './search.css';

const TYPED_MS = 200;
const NAMES_MS = 60_000; // Names of agents and tools are offered that are so old.

type State = { runs: FoundRun[]; next: string | null; isPartial: boolean; problem: string; isLoading: boolean };
const NOTHING: State = { runs: [], next: null, isPartial: false, problem: '', isLoading: true };
const NO_NAMES: Names = {};

export default function SearchPage() {
  useTitle('Runs');
  const [{ options }, move] = useRoute();
  const fields = fieldsOf(options);
  const views = useSavedViews();
  const { state, more } = useSearch(fields);
  const names = useServerData(['names of runs'], (signal) => loadTrends({}, signal), { staleTime: NAMES_MS });
  const question = JSON.stringify({ ...fields, sort: '' });
  const settled = useSettled(question);
  const trends = useServerData(['trends', settled], (signal) => loadTrends(JSON.parse(settled) as Fields, signal), {
    keepPrevious: true,
  });
  useCommands(() =>
    views.saved.map((view) => ({
      id: `view ${view.name}`,
      group: 'Actions',
      title: `Runs: ${view.name}`,
      icon: 'search',
      run: () => go(parseRoute(linkToView(view))),
    })),
  );
  const change = (next: Fields) => move({ options: { ...options, ...next } }, 'replace');
  // A request that was answered waits no longer.
  const isWaiting = fields.outcome === 'waiting';
  const runs = isWaiting ? state.runs.filter(({ answered }) => !answered) : state.runs;
  return (
    <div className="home search-page">
      <h1>Runs</h1>
      <FilterBox fields={fields} names={names.data?.names ?? NO_NAMES} change={change} />
      <SavedViews fields={fields} views={views} />
      {state.problem && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {state.problem}
        </div>
      )}
      {trends.data && !state.problem && <TrendCharts trends={trends.data} fields={fields} />}
      <p className="quiet" role="status">
        {statusOf(state, runs)}
        {state.isPartial && ` Some runs could not be searched: they are not indexed yet, or too old.`}
      </p>
      {runs.length > 0 && <RunsTable runs={runs} fields={fields} sort={(sort) => change({ sort })} />}
      {runs.length === 0 && !state.isLoading && !state.problem && <Nothing fields={fields} />}
      {state.next && (
        <button type="button" className="button" onClick={more}>
          Show more
        </button>
      )}
    </div>
  );
}

function statusOf({ isLoading, problem, next, runs: found }: State, runs: readonly FoundRun[]): string {
  if (isLoading) return 'Searching…';
  if (problem) return '';
  if (!runs.length) return 'No matching runs.';
  const answered = found.length - runs.length;
  return [
    next ? `${number(runs.length)}+ runs` : plural(runs.length, 'run'),
    answered ? `${number(answered)} answered since, not shown` : '',
  ]
    .filter(Boolean)
    .join(' · ');
}

function Nothing({ fields }: { fields: Fields }) {
  if (fields.text || chipsOf(fields).length) {
    return <Empty title="No run fits">Remove a filter, or search for fewer words.</Empty>;
  }
  return (
    <Empty title="No runs yet">Chat with an agent, or open a recording. Each run appears here when it ends.</Empty>
  );
}

/** Return a question when the typing rests. */
function useSettled(question: string): string {
  const [settled, setSettled] = useState(question);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(question), TYPED_MS);
    return () => clearTimeout(timer);
  }, [question]);
  return settled;
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
