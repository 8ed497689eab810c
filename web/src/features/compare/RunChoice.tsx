/** Which run another one is compared with: answers to the same message first, then any that a search finds. */
import { useState } from 'react';
import { useServerData } from '../../app/query';
import { go, HOME, linkTo } from '../../app/route';
import { explain, getJson, path } from '../../app/server';
import { Empty, Time } from '../../ui/elements';
import { duration, plural } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { OUTCOMES } from '../../ui/Kind';
import { useFeature } from '../registry';
import { RunAgain } from '../rerun/RunAgain';

type Listed = {
  run: string;
  app: string;
  session: string;
  title: string;
  messageTitle?: string;
  outcome: keyof typeof OUTCOMES | null;
  started: number;
  duration: number;
};

const LISTED = '50';

/** Return what a run is of; empty until that is known. */
function useListed(run: string): Listed | undefined {
  const load = async (signal: AbortSignal) => {
    const { app, session } = await getJson<{ app: string; session: string }>(path('api', 'runs', run), signal);
    const query = new URLSearchParams({ app, session, limit: '200' });
    return (await getJson<Listed[]>(`api/runs?${query}`, signal)).find((each) => each.run === run) ?? null;
  };
  return useServerData(['listed run', run], load).data ?? undefined;
}

export const titleOf = ({ title, messageTitle }: Pick<Listed, 'title' | 'messageTitle'>): string =>
  title || (messageTitle ? `${messageTitle} (continued)` : 'Message without text');

export function RunChoice({ run }: { run: string }) {
  const own = useListed(run);
  const [text, setText] = useState('');
  const isId = /^run-\S+$/.test(text.trim());
  const query = new URLSearchParams({ limit: LISTED, ...(text.trim() && !isId && { text: text.trim() }) });
  const load = (signal: AbortSignal) => getJson<Listed[]>(`api/runs?${query}`, signal);
  const { data, error } = useServerData(['runs to compare', String(query)], load, { keepPrevious: true });
  const others = data?.filter((each) => each.run !== run);
  const same = others?.filter((each) => own && each.app === own.app && titleOf(each) === titleOf(own)) ?? [];
  const rest = others?.filter((each) => !same.includes(each)) ?? [];
  const open = (id: string) => go({ ...HOME, place: { kind: 'compare', a: run, b: id } });
  return (
    <div className="compare">
      <h1>{own ? `Compare “${titleOf(own)}” with…` : 'Compare with…'}</h1>
      <search>
        <input
          type="search"
          className="field compare-search"
          aria-label="Search runs"
          placeholder="Words in a run, or its id"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={({ key }) => key === 'Enter' && isId && open(text.trim())}
        />
        {isId && (
          <button type="button" className="button" onClick={() => open(text.trim())}>
            Compare with this run
          </button>
        )}
      </search>
      {error && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {explain(error)}
        </div>
      )}
      {!data && !error && <div className="skeleton card-skeleton" />}
      <Choices title={`${plural(same.length, 'other run')} of this message`} runs={same} a={run} />
      <Choices title={text ? 'Runs that fit' : 'Latest runs'} runs={rest} a={run} />
      {others?.length === 0 && (
        <Empty title={text ? 'No run fits' : 'There is no other run yet'}>
          {text ? 'Search for fewer words.' : 'Send the message again, or run this one again with changes.'}
        </Empty>
      )}
      {useFeature('rerun') && <RunAgain run={run} />}
    </div>
  );
}

function Choices({ title, runs, a }: { title: string; runs: readonly Listed[]; a: string }) {
  if (!runs.length) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul className="compare-runs">
        {runs.map((each) => (
          <li key={each.run}>
            <a href={linkTo({ kind: 'compare', a, b: each.run })}>{titleOf(each)}</a>{' '}
            <span className="quiet">
              {each.app} · {OUTCOMES[each.outcome ?? 'running'].word} · {duration(each.duration)} ·{' '}
              <Time at={each.started} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
