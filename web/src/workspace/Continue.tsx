/** Go on with a run that was recorded elsewhere: a new session of an app of this server, with what was said as its history. */
import { useState } from 'react';
import { isUsable, useCatalogue } from '../app/catalogue';
import { explain } from '../app/problem';
import { postJson } from '../app/request';
import { go, HOME } from '../app/route';
import { path } from '../app/serverUrl';
import type { Film } from '../film/film';
import * as words from '../words/workspace';

type Made = { run: string; app: string; user: string; session: string };

export function Continue({ film, at }: { film: Film; at: number }) {
  const { apps } = useCatalogue();
  const [chosen, setChosen] = useState('');
  const [problem, setProblem] = useState('');
  const [isSending, setSending] = useState(false);
  const names = apps?.filter(isUsable).map(({ name }) => name) ?? [];
  const isServed = names.includes(film.app);
  const app = isServed ? film.app : chosen;
  const begin = async () => {
    setSending(true);
    try {
      const made = await postJson<Made>(`${path('api', 'runs', film.run)}/fork`, { at, appName: app });
      go({ ...HOME, place: { kind: 'chat', app: made.app, session: made.session }, options: made.user === 'user' ? {} : { user: made.user } });
    } catch (error) {
      setProblem(explain(error));
      setSending(false);
    }
  };
  if (!apps) return null;
  if (!names.length) return <span className="muted">{words.serverHasNoApp}</span>;
  return (
    <span className="continue">
      {problem && <span role="alert">{problem}</span>}
      {!isServed && (
        <>
          <span className="muted">{film.captured ? words.doesNotSayWhichApp : words.noSuchApp(film.app)}</span>
          <select className="field" aria-label={words.appThatContinuesIt} value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value="">{words.chooseAnApp}</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </>
      )}
      <button type="button" className="button" disabled={!app || isSending} title={words.newSessionWithWhat} onClick={begin}>
        {words.continueInAChat}
      </button>
    </span>
  );
}
