/** Home: apps that run with one key press, what was active last, and a place to drop a recording. */
import { Suspense, useEffect } from 'react';
import { addressOf } from '../app/RailConversations';
import { isUsable, titleOf, useCatalogue, type AppEntry, type ConversationEntry } from '../app/catalogue';
import { lazyWithRetry } from '../app/lazyWithRetry';
import { Details } from '../ui/Details';
import { Icon } from '../ui/Icon';
import { KindChip } from '../ui/Kind';
import { shorten } from '../ui/Id';
import { plural, readable } from '../ui/format';
import { Time } from '../ui/Time';
import { AppCard } from './AppCard';
import { OUTCOMES } from './outcomes';
import { DropZone } from './DropZone';
import * as words from '../words/home';
import './home.css';

// Whoever only chats does not load it.
const Connect = lazyWithRetry(() => import('./Connect'));
const ServerInfo = lazyWithRetry(() => import('./ServerInfo'));

const SHOWN = 12;

/** Runs also come from elsewhere: from a recorder, or another window. */
const LOOK_MS = 5_000;

export default function Home() {
  const { apps, conversations, problem, refresh } = useCatalogue();
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), LOOK_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return (
    <div className="home">
      <h1>{words.seeEverythingYourAgentsDid}</h1>
      <p className="lead">{words.chatWithAnAgentThen}</p>
      {problem && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {problem}
          <span className="actions">
            <button type="button" className="button" onClick={refresh}>
              {words.tryAgain}
            </button>
          </span>
        </div>
      )}
      <section aria-labelledby="apps">
        <h2 id="apps">{words.apps}</h2>
        {!apps && !problem && <div className="skeleton card-skeleton" />}
        <ul className="cards">
          {apps?.map((app, index) => (
            <AppCard key={app.name} app={app} isFirst={index === firstWorking(apps)} />
          ))}
        </ul>
        {apps?.length === 0 && <p className="quiet">{words.noAppsFoundStart}</p>}
      </section>
      <section aria-labelledby="recent">
        <h2 id="recent">{words.recent}</h2>
        <Recent entries={conversations?.slice(0, SHOWN) ?? []} apps={apps ?? []} />
      </section>
      <section aria-labelledby="recordings">
        <h2 id="recordings">{words.openARecording}</h2>
        <DropZone />
      </section>
      <section aria-labelledby="connect">
        <h2 id="connect">{words.connectYourAgent}</h2>
        <Details className="connect-fold" summary={words.commandAddressesAndCode}>
          {() => (
            <Suspense fallback={<div className="skeleton card-skeleton" />}>
              <Connect />
            </Suspense>
          )}
        </Details>
      </section>
      <section aria-labelledby="server">
        <h2 id="server">{words.aboutThisServer}</h2>
        <Details className="connect-fold" summary={words.modelsStorageVersionsAndCapabilities}>
          {() => (
            <Suspense fallback={<div className="skeleton card-skeleton" />}>
              <ServerInfo />
            </Suspense>
          )}
        </Details>
      </section>
    </div>
  );
}

function firstWorking(apps: readonly AppEntry[]): number {
  return apps.findIndex(isUsable);
}

function Recent({ entries, apps }: { entries: readonly ConversationEntry[]; apps: readonly AppEntry[] }) {
  const titles = new Map(apps.map((app) => [app.name, titleOf(app)]));
  if (entries.length === 0) return <p className="quiet">{words.conversationsAndRecordingsWillAppear}</p>;
  return (
    <div className="table" role="region" aria-label={words.recentConversations} tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">{words.conversation}</th>
            <th scope="col">{words.app}</th>
            <th scope="col">{words.lastRun}</th>
            <th scope="col" className="number">
              {words.runs}
            </th>
            <th scope="col">{words.active}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.app}/${entry.user}/${entry.session}`}>
              <td>
                <a href={addressOf(entry)}>{entry.title || shorten(entry.session, 28)}</a>
                {entry.uploaded && <span className="quiet"> {words.recording}</span>}
              </td>
              <td title={entry.app}>{titles.get(entry.app) ?? readable(entry.app)}</td>
              <td>
                <KindChip {...OUTCOMES[entry.outcome ?? 'running']}>{OUTCOMES[entry.outcome ?? 'running'].word}</KindChip>
              </td>
              <td className="number" title={plural(entry.runs, 'run')}>
                {entry.runs}
              </td>
              <td>
                <Time at={entry.active} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
