/** The artifacts at the playhead with their versions, those of the session beside, and what the app remembers. */
import { useEffect, useState } from 'react';
import { artifactsAt, type ArtifactView } from '../../film/artifacts';
import type { Film } from '../../film/film';
import { isImported } from '../../film/isImported';
import { shared } from '../../film/sharedFile';
import { clockTime } from '../../film/timeline';
import { Details } from '../../ui/Details';
import { Empty } from '../../ui/Empty';
import { PanelHeader } from '../../ui/PanelHeader';
import { plural } from '../../ui/format';
import { EventLink } from '../EventLink';
import type { PanelProps } from '../panel';
import '../panels.css';
import './artifacts.css';
import { namesOf, savedContent, storedContent, versionsOf, type Owner } from './content';
import { Memories } from './Memories';
import { Preview } from './Preview';
import * as words from '../../words/artifacts';

const SHOWN = 100; // Artifacts, and versions of one: the newest.

export default function ArtifactsPanel({ film, at, seek }: PanelProps) {
  const saved = artifactsAt(film, at);
  const isElsewhere = shared() !== null || isImported(film);
  return (
    <section className="panel artifacts-panel" aria-label={words.artifacts}>
      <PanelHeader title={words.artifacts} count={saved.length || undefined} />
      <div className="body" tabIndex={0} role="region" aria-label={words.artifactsAndMemories}>
        {saved.length === 0 && <Empty title={words.noArtifactsAtThisEvent}>{words.filesThatAgentsAndTools}</Empty>}
        {saved.slice(-SHOWN).map((artifact) => (
          <Artifact key={artifact.name} film={film} artifact={artifact} seek={seek} />
        ))}
        {!isElsewhere && <OfSession film={film} />}
        <Memories film={film} at={at} seek={seek} isElsewhere={isElsewhere} />
      </div>
    </section>
  );
}

function Artifact({ film, artifact: { name, versions }, seek }: { film: Film; artifact: ArtifactView; seek(cursor: number): void }) {
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
                {words.version(version.version)} <span className="muted">{[version.author && words.byAuthor(version.author), clockTime(film, version.since)].filter(Boolean).join(', ')}</span>
              </>
            }
          >
            {() => (
              <>
                <p className="muted">
                  {words.savedAt} <EventLink cursor={version.since} seek={seek} />
                </p>
                <Preview name={name} load={(signal) => savedContent(film.run, version, signal)} />
              </>
            )}
          </Details>
        ))}
    </section>
  );
}

function scopeOf(name: string): string {
  return name.startsWith('user:') ? words.allSessionsOfTheUser : words.thisSession;
}

/** What other runs of the session, or of the user, have saved: as it is today. */
function OfSession({ film }: { film: Film }) {
  const owner: Owner = { app: film.app, user: film.user, session: film.session };
  const [names, setNames] = useState<string[]>([]);
  const last = film.ended?.cursor;
  useEffect(() => {
    const leaving = new AbortController();
    namesOf(owner, leaving.signal).then(setNames, () => {}); // No store, or no such session any more: there are none.
    return () => leaving.abort();
  }, [film.run, last]);
  const ofRun = new Set(film.items.artifacts?.map(({ is }) => is.name));
  const others = names.filter((name) => !ofRun.has(name));
  if (!others.length) return null;
  return (
    <section className="section">
      <h3>
        {words.otherRuns} <span className="count">{words.countOfToday(plural(others.length, 'artifact'))}</span>
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
  const [versions, setVersions] = useState<number[] | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    versionsOf(owner, name, leaving.signal).then(setVersions, () => leaving.signal.aborted || setVersions([]));
    return () => leaving.abort();
  }, []);
  if (versions === null) return <div className="skeleton" role="status" aria-label={words.loadingTheVersions} />;
  if (!versions.length) return <p className="muted">{words.notThereAnyMore}</p>;
  return versions
    .toSorted((a, b) => b - a)
    .slice(0, SHOWN)
    .map((version) => (
      <Details key={version} summary={words.version(version)}>
        {() => <Preview name={name} load={(signal) => storedContent(owner, name, version, signal)} />}
      </Details>
    ));
}
