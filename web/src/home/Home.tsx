/** Home: apps that run with one key press, what was active last, and a place to drop a recording. */
import { Fragment, Suspense, useEffect, useRef, useState, type KeyboardEvent } from 'react';
import {
  addressOf,
  isUsable,
  titleOf,
  useCatalogue,
  type AppEntry,
  type ConversationEntry,
  modelWords,
  type UsableApp,
} from '../app/catalogue';
import { lazyWithRetry } from '../app/Failure';
import { queries } from '../app/query';
import { Details, Time } from '../ui/elements';
import { Icon } from '../ui/Icon';
import { KindChip, OUTCOMES } from '../ui/Kind';
import { shorten } from '../ui/Copy';
import { plural, readable, number } from '../ui/format';
import { useTitle } from '../ui/hooks';
import { useFeatures } from '../features/registry';
import { startChat } from '../app/drafts';
import { linkTo } from '../app/route';
import { Traceback } from '../ui/Traceback';
import { ServeCommand } from './ServeCommand';
import './home.css';

// An app: what it is, which model it asks, and a prompt that Enter sends.

/** Prompts shown at first; the rest on demand. */
const PROMPTS_SHOWN = 5;

/** Characters on a line of the field, and most lines: a long prompt is seen whole. */
const LINE = 32;
const MOST_LINES = 5;

function rowsOf(text: string): number {
  return Math.max(1, Math.min(MOST_LINES, Math.ceil(text.length / LINE)));
}

export function AppCard({ app, isFirst }: { app: AppEntry; isFirst: boolean }) {
  if (app.error !== undefined) return <FailedApp name={app.name} error={app.error} />;
  if (app.problem !== undefined) return <UnusableApp name={app.name} problem={app.problem} />;
  return <WorkingApp app={app} isFirst={isFirst} />;
}

function FailedApp({ name, error }: { name: string; error: string }) {
  return (
    <li className="card" data-kind="error">
      <h3>
        <span title={name}>{readable(name)}</span> <KindChip kind="error">Failed to load</KindChip>
      </h3>
      <p>{error}</p>
      <Traceback text={error} />
      <p className="quiet">See the server log for details. The app is loaded again when its files change.</p>
    </li>
  );
}

function UnusableApp({ name, problem }: { name: string; problem: string }) {
  return (
    <li className="card" data-kind="neutral" aria-disabled="true">
      <h3>
        {name} <KindChip kind="neutral">Not an app</KindChip>
      </h3>
      <p>{problem}</p>
    </li>
  );
}

const AGENTS_NAMED = 3;

/** Say which agents an app has: "4 agents: coordinator, burn_analyst, trail_assessor and 1 more". */
export function agentWords(agents: readonly string[]): string {
  if (agents.length === 0) return 'no agents';
  if (agents.length === 1) return `1 agent: ${agents[0]}`;
  const more = agents.length - AGENTS_NAMED;
  const names = agents.slice(0, AGENTS_NAMED).join(', ');
  return `${plural(agents.length, 'agent')}: ${names}${more > 0 ? ` and ${more} more` : ''}`;
}

function WorkingApp({ app, isFirst }: { app: UsableApp; isFirst: boolean }) {
  const features = useFeatures();
  const [text, setText] = useState(app.prompts[0]?.prompt ?? '');
  const [isAll, setAll] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // Enter on the first card starts it: no other thing on this page asks for the focus.
    if (isFirst && document.activeElement === document.body) field.current?.focus({ preventScroll: true });
  }, [isFirst]);
  const submit = (event: { preventDefault(): void }) => {
    event.preventDefault();
    startChat(app.name, text.trim());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  const shown = isAll ? app.prompts : app.prompts.slice(0, PROMPTS_SHOWN);
  const facts = [
    app.agents && <span title={app.agents.join(', ')}>{agentWords(app.agents)}</span>,
    app.changed && 'files changed, loads again when used next',
    app.reloadError && 'the changed files cannot be loaded',
    app.live && 'text and voice',
    ...features.map(({ appLink }) => appLink && <a href={linkTo(appLink.place(app.name))}>{appLink.title}</a>),
  ].filter(Boolean);
  return (
    <li className="card">
      <h3>
        <span title={app.name}>{titleOf(app)}</span>
        {app.models && (
          <KindChip
            kind={app.offline ? 'neutral' : 'text'}
            icon={app.offline ? 'neutral' : 'text'}
            title={app.models.join(', ')}
          >
            {modelWords(app)}
          </KindChip>
        )}
        {app.bundled && <span className="quiet">Example</span>}
      </h3>
      <p>{app.description || 'ADK app'}</p>
      <p className="quiet">
        {facts.map((fact, index) => (
          <Fragment key={index}>
            {index > 0 && ' · '}
            {fact}
          </Fragment>
        ))}
      </p>
      <form className="card-form" onSubmit={submit}>
        <textarea
          ref={field}
          className="field"
          rows={rowsOf(text)}
          aria-label={`First message to ${titleOf(app)}`}
          placeholder="First message"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onFocus={(event) => event.target.select()}
          onKeyDown={onKeyDown}
        />
        <button type="submit" className="button" data-look="primary" title="Start (Enter)">
          Start <Icon name="chevron" />
        </button>
      </form>
      {shown.length > 1 && (
        <ul className="prompts" aria-label={`Prompts for ${titleOf(app)}`}>
          {shown.map((prompt) => (
            <li key={prompt.prompt}>
              <button type="button" title={prompt.shows} onClick={() => startChat(app.name, prompt.prompt)}>
                {prompt.prompt}
              </button>
            </li>
          ))}
          {app.prompts.length > PROMPTS_SHOWN && (
            <li>
              <button type="button" data-more="" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
                {isAll ? 'fewer' : `${app.prompts.length - PROMPTS_SHOWN} more`}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

// Whoever only chats does not load it.
const Connect = lazyWithRetry(() => import('./Connect'));
const ServerInfo = lazyWithRetry(() => import('./ServerInfo'));

const SHOWN = 12;

/** Runs also come from elsewhere: from a recorder, or another window. */
const LOOK_MS = 5_000;

export default function Home() {
  useTitle('');
  const features = useFeatures();
  const { apps, conversations, problem, refresh } = useCatalogue();
  useEffect(() => {
    // A server that takes longer to answer is not asked again meanwhile.
    const isIdle = () => document.visibilityState === 'visible' && queries.isFetching() === 0;
    const timer = setInterval(() => isIdle() && refresh(), LOOK_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  // Whoever has only the examples is told first how their own agents come here.
  const isNew = apps?.every((app) => isUsable(app) && app.bundled) ?? false;
  return (
    <div className="home">
      <h1>See everything your agents did</h1>
      <p className="lead">Chat with an agent, then replay any moment.</p>
      {problem && (
        <div className="notice" data-kind="error" role="alert">
          <Icon name="error" /> {problem}
          <span className="actions">
            <button type="button" className="button" onClick={refresh}>
              Try again
            </button>
          </span>
        </div>
      )}
      <Waiting entries={conversations ?? []} />
      {isNew && <ConnectSection />}
      <section aria-labelledby="apps">
        <h2 id="apps">Apps</h2>
        {!apps && !problem && <div className="skeleton card-skeleton" />}
        <ul className="cards">
          {apps?.map((app, index) => (
            <AppCard key={app.name} app={app} isFirst={index === firstWorking(apps)} />
          ))}
        </ul>
        {apps?.length === 0 && <p className="quiet">No apps found.</p>}
      </section>
      {!isNew && <ConnectSection />}
      <section aria-labelledby="recent">
        <h2 id="recent">Recent</h2>
        <Recent entries={conversations?.slice(0, SHOWN) ?? []} apps={apps ?? []} />
        {conversations?.length === 0 && (
          <Suspense>{features.map(({ name, FirstVisit }) => FirstVisit && <FirstVisit key={name} />)}</Suspense>
        )}
      </section>
      {features.map(
        ({ homeSection }) =>
          homeSection && (
            <section key={homeSection.id} aria-labelledby={homeSection.id}>
              <h2 id={homeSection.id}>{homeSection.title}</h2>
              <Suspense fallback={<div className="skeleton card-skeleton" />}>
                <homeSection.Section />
              </Suspense>
            </section>
          ),
      )}
      <section aria-labelledby="server">
        <h2 id="server">About this server</h2>
        <Details className="connect-fold" summary="Models, storage, versions and capabilities">
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

function ConnectSection() {
  return (
    <section aria-labelledby="connect">
      <h2 id="connect">Connect your agent</h2>
      <ServeCommand />
      <Details className="connect-fold" summary="Addresses and code for useChat, AG-UI and curl">
        {() => (
          <Suspense fallback={<div className="skeleton card-skeleton" />}>
            <Connect />
          </Suspense>
        )}
      </Details>
    </section>
  );
}

function firstWorking(apps: readonly AppEntry[]): number {
  return apps.findIndex(isUsable);
}

const MOST_WAITING = 5;

/** What waits for whoever looks: before anything that can be begun. */
function Waiting({ entries }: { entries: readonly ConversationEntry[] }) {
  const waiting = entries.filter(({ outcome, uploaded }) => outcome === 'waiting' && !uploaded);
  if (waiting.length === 0) return null;
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">{waiting.length > 1 ? `Waiting for you (${number(waiting.length)})` : 'Waiting for you'}</h2>
      <ul className="waiting-list" data-kind="approval">
        {waiting.slice(0, MOST_WAITING).map((entry) => (
          <li key={`${entry.app}/${entry.user}/${entry.session}`}>
            <a href={addressOf(entry)}>
              <Icon name="approval" />
              <span className="waiting-title">{entry.title || shorten(entry.session, 28)}</span>
              <span className="quiet">
                {readable(entry.app)} · <Time at={entry.active} />
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Recent({ entries, apps }: { entries: readonly ConversationEntry[]; apps: readonly AppEntry[] }) {
  const titles = new Map(apps.map((app) => [app.name, titleOf(app)]));
  if (entries.length === 0) return <p className="quiet">Your conversations and recordings will appear here.</p>;
  return (
    <div className="table" role="region" aria-label="Recent conversations" tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">Conversation</th>
            <th scope="col">App</th>
            <th scope="col">Last run</th>
            <th scope="col" className="number">
              Runs
            </th>
            <th scope="col">Active</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.app}/${entry.user}/${entry.session}`}>
              <td>
                <a href={addressOf(entry)}>{entry.title || shorten(entry.session, 28)}</a>
                {entry.uploaded && <span className="quiet"> recording</span>}
              </td>
              <td title={entry.app}>{titles.get(entry.app) ?? readable(entry.app)}</td>
              <td>
                <KindChip {...OUTCOMES[entry.outcome ?? 'running']}>
                  {OUTCOMES[entry.outcome ?? 'running'].word}
                </KindChip>
              </td>
              <td className="number" title={plural(entry.runs, 'run')}>
                {number(entry.runs)}
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
