/** About this server: models of the apps, what is stored where, versions, and what works with them. */
import { useEffect, useState } from 'react';
import { isUsable, modelWords, titleOf, useCatalogue, type AppEntry } from '../app/catalogue';
import { explain } from '../app/problem';
import { getJson } from '../app/request';
import { KindChip } from '../ui/Kind';
import { number, plural, size } from '../ui/format';
import { ageWords, packageWords, placeWords, type Setup } from './setup';
import * as words from '../words/home';

type State = { kind: 'loading' } | { kind: 'failed'; reason: string } | { kind: 'known'; setup: Setup };

export default function ServerInfo() {
  const { apps } = useCatalogue();
  const [state, setState] = useState<State>({ kind: 'loading' });
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Setup>('api/setup', leaving.signal).then(
      (setup) => setState({ kind: 'known', setup }),
      (error: unknown) => leaving.signal.aborted || setState({ kind: 'failed', reason: explain(error) }),
    );
    return () => leaving.abort();
  }, []);
  return (
    <div className="connect">
      <h3>{words.apps}</h3>
      <dl>
        {apps?.map((app) => (
          <div key={app.name}>
            <dt>{titleOf(app)}</dt>
            <dd>{appWords(app)}</dd>
          </div>
        ))}
      </dl>
      {state.kind === 'loading' && <div className="skeleton card-skeleton" />}
      {state.kind === 'failed' && <p className="quiet">{words.storageVersionsAndCapabilities(state.reason)}</p>}
      {state.kind === 'known' && <Known setup={state.setup} />}
    </div>
  );
}

function Known({ setup }: { setup: Setup }) {
  const { log, places } = setup;
  return (
    <>
      <h3>{words.storage}</h3>
      <dl>
        <div>
          <dt>{words.runLog}</dt>
          <dd>
            <code>{log.place}</code> · {words.logSize(plural(log.runs, 'run'), size(log.bytes), ageWords(log.maxAge), size(log.maxBytes))}
          </dd>
        </div>
        {(['sessions', 'artifacts', 'memory'] as const).map((name) => (
          <div key={name}>
            <dt>{name[0]!.toUpperCase() + name.slice(1)}</dt>
            <dd>{placeWords(setup, name, places[name])}</dd>
          </div>
        ))}
        <div>
          <dt>{words.reloading}</dt>
          <dd>{setup.reloads ? words.appIsLoadedAgain : words.offRestartTheServerAfter}</dd>
        </div>
      </dl>
      <h3>{words.versions}</h3>
      <p className="quiet">{setup.packages.filter((each) => each.installed).map(packageWords).join(' · ')}</p>
      <h3>{words.capabilities}</h3>
      <Capabilities setup={setup} />
    </>
  );
}

function Capabilities({ setup: { capabilities } }: { setup: Setup }) {
  const off = capabilities.filter((each) => !each.on);
  if (off.length === 0) return <p className="quiet">{words.allWorkWithTheInstalled(number(capabilities.length))}</p>;
  return (
    <ul>
      {off.map((each) => (
        <li key={each.name}>
          <KindChip kind="error">{words.off}</KindChip> {words.capabilityOff(each.name, each.summary, each.problem, each.without)}
        </li>
      ))}
    </ul>
  );
}

/** Say which models an app uses, and whether it is loaded. */
function appWords(app: AppEntry): string {
  if (!isUsable(app)) return app.error !== undefined ? words.failedToLoadWhy(app.error) : app.problem;
  if (app.models === null) return words.notLoadedYetItLoads;
  const reloaded = app.reloads ? words.reloaded(app.reloads === 1 ? 'once' : words.countTimes(number(app.reloads))) : '';
  return `${modelWords(app)} · ${app.changed ? words.filesChangedLoadsAgain : 'loaded'}${reloaded}`;
}
