/** Which run another one is compared with: one of the latest, or any by its id. */
import { useEffect, useState, type FormEvent } from 'react';
import { explain } from '../app/problem';
import { getJson } from '../app/request';
import { go, HOME, linkTo } from '../app/route';
import { duration } from '../ui/format';
import { shorten } from '../ui/Id';
import { Time } from '../ui/Time';
import { RunAgain } from './RunAgain';
import * as words from '../words/compare';

type Listed = { run: string; app: string; title: string; outcome: string | null; started: number; duration: number };

const LISTED = 50;

export function RunChoice({ run }: { run: string }) {
  const [runs, setRuns] = useState<Listed[] | null>(null);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Listed[]>(`api/runs?limit=${LISTED}`, leaving.signal).then(setRuns, (error: unknown) => leaving.signal.aborted || setProblem(explain(error)));
    return () => leaving.abort();
  }, []);
  const choose = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget).get('run') ?? '').trim();
    if (id) go({ ...HOME, place: { kind: 'compare', a: run, b: id } });
  };
  return (
    <div className="compare">
      <h1>{words.compareWith(shorten(run, 28))}</h1>
      <RunAgain run={run} />
      <h2>{words.anotherRunTitle}</h2>
      <form onSubmit={choose} className="compare-choice">
        <input className="field" name="run" placeholder={words.runId} aria-label={words.runId} />
        <button type="submit" className="button">
          {words.compare}
        </button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {!runs && !problem && <div className="skeleton card-skeleton" />}
      <ul className="compare-runs">
        {runs
          ?.filter((each) => each.run !== run)
          .map((each) => (
            <li key={each.run}>
              <a href={linkTo({ kind: 'compare', a: run, b: each.run })}>{each.title || shorten(each.run, 28)}</a>{' '}
              <span className="quiet">
                {each.app} · {each.outcome ?? words.runningState} · {duration(each.duration)} · <Time at={each.started} />
              </span>
            </li>
          ))}
      </ul>
      {runs?.length === 0 && <p className="quiet">{words.thereIsNoOtherRun}</p>}
    </div>
  );
}
