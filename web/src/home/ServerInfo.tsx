/** About this server: models of the apps, what is stored where, versions, and what works with them. */
import { useServerData } from '../app/query';
import { isUsable, modelWords, titleOf, useCatalogue, type AppEntry } from '../app/catalogue';
import { explain, getJson } from '../app/server';
import { KindChip } from '../ui/Kind';
import { number, plural, size, duration } from '../ui/format';

/** How a server is set up, as `GET /api/setup` answers. */
export type Package = { name: string; installed: string; supported: string };

export type Capability = { name: string; summary: string; on: boolean; problem: string; without: string };

export type Setup = {
  packages: Package[];
  capabilities: Capability[];
  log: { place: string; runs: number; bytes: number; maxAge?: number; maxBytes?: number };
  /** Where they are; empty: the default. */
  places: { sessions: string; artifacts: string; memory: string };
  dataDir: string;
  localStorage: boolean;
  reloads: boolean;
};

/** Say which version of a package is installed. */
export function packageWords({ name, installed, supported }: Package): string {
  return `${name} ${installed}${supported && ` ${`(supported: ${supported})`}`}`;
}

const DAY = 86_400;

/** Say how long runs are kept. */
export function ageWords(seconds: number): string {
  return seconds < 2 * DAY ? duration(seconds) : plural(Math.round(seconds / DAY), 'day');
}

/** Say where sessions, artifacts or memory are. */
export function placeWords(setup: Setup, name: keyof Setup['places'], place: string): string {
  if (place) return place;
  if (name === 'memory') return 'In this process; lost when it stops';
  return setup.localStorage ? 'In the .adk folder of each app' : `In ${setup.dataDir}`;
}

export default function ServerInfo() {
  const { apps } = useCatalogue();
  const { data: setup, error } = useServerData(['setup'], (signal) => getJson<Setup>('api/setup', signal));
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
      {!setup && !error && <div className="skeleton card-skeleton" />}
      {error && (
        <p className="quiet">{`Storage, versions and capabilities are not available to you: ${explain(error)}`}</p>
      )}
      {setup && <Known setup={setup} />}
    </div>
  );
}

/** How long runs are kept: without limits, where the server runs without the feature that removes them. */
function keptWords({ maxAge, maxBytes }: Setup['log']) {
  if (maxAge === undefined || maxBytes === undefined) return 'Runs are kept until somebody deletes them.';
  return `Runs are kept for ${ageWords(maxAge)}, up to ${size(maxBytes)}.`;
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
            <code>{log.place}</code> · {`${plural(log.runs, 'run')}, ${size(log.bytes)}. ${keptWords(log)}`}
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
          <dd>
            {setup.reloads
              ? 'On: an app is loaded again when its files change.'
              : 'Off: restart the server after a change. Turn it on with --reload.'}
          </dd>
        </div>
      </dl>
      <h3>Versions</h3>
      <p className="quiet">
        {setup.packages
          .filter((each) => each.installed)
          .map(packageWords)
          .join(' · ')}
      </p>
      <h3>Capabilities</h3>
      <Capabilities setup={setup} />
    </>
  );
}

function Capabilities({ setup: { capabilities } }: { setup: Setup }) {
  const off = capabilities.filter((each) => !each.on);
  if (off.length === 0)
    return <p className="quiet">{`All ${number(capabilities.length)} work with the installed versions.`}</p>;
  return (
    <ul>
      {off.map((each) => (
        <li key={each.name}>
          <KindChip kind="error">Off</KindChip>{' '}
          {`${each.name}: ${each.summary}. ${each.problem} Without it: ${each.without}.`}
        </li>
      ))}
    </ul>
  );
}

/** Say which models an app uses, and whether it is loaded. */
function appWords(app: AppEntry): string {
  if (!isUsable(app)) return app.error !== undefined ? `Failed to load: ${app.error}` : app.problem;
  if (app.models === null) return 'Not loaded yet.';
  const reloaded = app.reloads ? `, reloaded ${app.reloads === 1 ? 'once' : `${number(app.reloads)} times`}` : '';
  return `${modelWords(app)} · ${app.changed ? 'files changed, loads again when used next' : 'loaded'}${reloaded}`;
}
