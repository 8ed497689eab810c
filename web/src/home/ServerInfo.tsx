/** About this server: models of the apps, what is stored where, versions, and what works with them. */
import { useEffect, useState } from 'react';
import { isUsable, modelWords, titleOf, useCatalogue, type AppEntry } from '../app/catalogue';
import { explain } from '../app/problem';
import { getJson } from '../app/request';
import { KindChip } from '../ui/Kind';
import { number, plural, size } from '../ui/format';
import { ageWords, packageWords, placeWords, type Setup } from './setup';

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
      <h3>Apps</h3>
      <dl>
        {apps?.map((app) => (
          <div key={app.name}>
            <dt>{titleOf(app)}</dt>
            <dd>{appWords(app)}</dd>
          </div>
        ))}
      </dl>
      {state.kind === 'loading' && <div className="skeleton card-skeleton" />}
      {state.kind === 'failed' && <p className="quiet">Storage, versions and capabilities are not available to you: {state.reason}</p>}
      {state.kind === 'known' && <Known setup={state.setup} />}
    </div>
  );
}

function Known({ setup }: { setup: Setup }) {
  const { log, places } = setup;
  return (
    <>
      <h3>Storage</h3>
      <dl>
        <div>
          <dt>Run log</dt>
          <dd>
            <code>{log.place}</code> · {plural(log.runs, 'run')}, {size(log.bytes)}. Runs are kept for {ageWords(log.maxAge)}, up to {size(log.maxBytes)}.
          </dd>
        </div>
        {(['sessions', 'artifacts', 'memory'] as const).map((name) => (
          <div key={name}>
            <dt>{name[0]!.toUpperCase() + name.slice(1)}</dt>
            <dd>{placeWords(setup, name, places[name])}</dd>
          </div>
        ))}
        <div>
          <dt>Reloading</dt>
          <dd>{setup.reloads ? 'On: an app is loaded again when its files change.' : 'Off: restart the server after a change. Turn it on with --reload.'}</dd>
        </div>
      </dl>
      <h3>Versions</h3>
      <p className="quiet">{setup.packages.filter((each) => each.installed).map(packageWords).join(' · ')}</p>
      <h3>Capabilities</h3>
      <Capabilities setup={setup} />
    </>
  );
}

function Capabilities({ setup: { capabilities } }: { setup: Setup }) {
  const off = capabilities.filter((each) => !each.on);
  if (off.length === 0) return <p className="quiet">All {number(capabilities.length)} work with the installed versions.</p>;
  return (
    <ul>
      {off.map((each) => (
        <li key={each.name}>
          <KindChip kind="error">Off</KindChip> {each.name}: {each.summary}. {each.problem} Without it: {each.without}.
        </li>
      ))}
    </ul>
  );
}

/** Say which models an app uses, and whether it is loaded. */
function appWords(app: AppEntry): string {
  if (!isUsable(app)) return app.error !== undefined ? `Failed to load: ${app.error}` : app.problem;
  if (app.models === null) return 'Not loaded yet. It loads when first used.';
  const reloaded = app.reloads ? `, reloaded ${app.reloads === 1 ? 'once' : `${number(app.reloads)} times`}` : '';
  return `${modelWords(app)} · ${app.changed ? 'files changed, loads again when used next' : 'loaded'}${reloaded}`;
}
