/** The artifacts at the playhead with their versions, those of the session beside, and what the app remembers. */
import { useServerData } from '../../app/query';
import {
  artifactsAt,
  type ArtifactView,
  namesOf,
  savedContent,
  storedContent,
  versionsOf,
  type Owner,
} from './content';
import { type Film, isImported } from '../../film/film';
import { shared } from '../../film/sharedFile';
import { clockTime } from '../../film/timeline';
import { Details, Empty, PanelHeader, EventLink } from '../../ui/elements';
import { plural } from '../../ui/format';
import type { PanelProps } from '../feature';
import '../../style/panels.css';
import './artifacts.css';
import { Memories } from './Memories';
import { Preview } from './Preview';

const SHOWN = 100; // Artifacts, and versions of one: the newest.

export default function ArtifactsPanel({ film, at, seek }: PanelProps) {
  const saved = artifactsAt(film, at);
  const isElsewhere = shared() !== null || isImported(film);
  return (
    <section className="panel artifacts-panel" aria-label="Artifacts">
      <PanelHeader title="Artifacts" count={saved.length || undefined} />
      <div className="body" tabIndex={0} role="region" aria-label="Artifacts and memories">
        {saved.length === 0 && (
          <Empty title="No artifacts at this event">
            Files that agents and tools save in this run appear here, with every version.
          </Empty>
        )}
        {saved.slice(-SHOWN).map((artifact) => (
          <Artifact key={artifact.name} film={film} artifact={artifact} seek={seek} />
        ))}
        {!isElsewhere && <OfSession film={film} />}
        <Memories film={film} at={at} seek={seek} isElsewhere={isElsewhere} />
      </div>
    </section>
  );
}

function Artifact({
  film,
  artifact: { name, versions },
  seek,
}: {
  film: Film;
  artifact: ArtifactView;
  seek(cursor: number): void;
}) {
  return (
    <section className="section">
      <h3>
        {name} <span className="count">{scopeOf(name)}</span>
      </h3>
      {versions
        .slice(-SHOWN)
        .toReversed()
        .map((version) => (
          <Details
            key={`${version.since} ${version.part}`}
            summary={
              <>
                {`version ${version.version}`}{' '}
                <span className="muted">
                  {[version.author && `by ${version.author}`, clockTime(film, version.since)]
                    .filter(Boolean)
                    .join(', ')}
                </span>
              </>
            }
          >
            {() => (
              <>
                <p className="muted">
                  Saved at <EventLink cursor={version.since} seek={seek} />
                </p>
                <Preview name={name} load={(signal) => savedContent(film, version, signal)} />
              </>
            )}
          </Details>
        ))}
    </section>
  );
}

function scopeOf(name: string): string {
  return name.startsWith('user:') ? 'all sessions of the user' : 'this session';
}

/** What other runs of the session, or of the user, have saved: as it is today. */
function OfSession({ film }: { film: Film }) {
  const owner: Owner = { app: film.app, user: film.user, session: film.session };
  // At the end of a run there may be more. No store, or no such session any more: there are none.
  const key = ['artifacts', owner, film.run, film.ended?.cursor];
  const { data: names = [] } = useServerData(key, (signal) => namesOf(owner, signal), { keepPrevious: true });
  const ofRun = new Set(film.items.artifacts?.map(({ is }) => is.name));
  const others = names.filter((name) => !ofRun.has(name));
  if (!others.length) return null;
  return (
    <section className="section">
      <h3>
        From other runs <span className="count">{`${plural(others.length, 'artifact')}, as of today`}</span>
      </h3>
      {others.slice(0, SHOWN).map((name) => (
        <Details key={name} summary={name}>
          {() => <Versions owner={owner} name={name} />}
        </Details>
      ))}
    </section>
  );
}

function Versions({ owner, name }: { owner: Owner; name: string }) {
  const { data, error } = useServerData(['versions of an artifact', owner, name], (signal) =>
    versionsOf(owner, name, signal),
  );
  const versions = error ? [] : data;
  if (!versions) return <div className="skeleton" role="status" aria-label="Loading the versions" />;
  if (!versions.length) return <p className="muted">It no longer exists.</p>;
  return versions
    .toSorted((a, b) => b - a)
    .slice(0, SHOWN)
    .map((version) => (
      <Details key={version} summary={`version ${version}`}>
        {() => <Preview name={name} load={(signal) => storedContent(owner, name, version, signal)} />}
      </Details>
    ));
}
