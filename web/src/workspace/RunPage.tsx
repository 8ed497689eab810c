/** One run alone: live, over, uploaded from elsewhere, or in a file without a server. */
import { Suspense, type ReactNode, useMemo, useState } from 'react';
import { currentRoute, formatRoute, HOME, linkTo, useRoute, go } from '../app/route';
import { ChatContext, type ChatActions } from '../chat/ChatContext';
import { markdownOf } from '../chat/export';
import { MessageList } from '../chat/MessageList';
import { textOf } from '../chat/message';
import { messagesOf } from '../chat/filmMessages';
import type { Turn } from '../features/tree/rows';
import { chatAt } from '../film/conversation';
import type { Film } from '../film/film';
import { shared } from '../film/sharedFile';
import { useFilm } from '../film/useFilm';
import { Empty } from '../ui/elements';
import { Icon } from '../ui/Icon';
import { useTitle } from '../ui/hooks';
import { Heading, ForkedFrom, Forks, RunPicker } from './Heading';
import { usePlayhead, useRested } from './playhead';
import { lazyWithRetry } from '../app/Failure';
import type { ShareItem } from './ShareMenu';
import { useLineage } from './sessionData';
import { RECORDING, useRecordedSession } from './sessionData';
import { Workspace } from './Workspace';
import { isUsable, useCatalogue } from '../app/catalogue';
import { explain, path, postJson } from '../app/server';
import '../chat/chat.css';

const ShareMenu = lazyWithRetry(async () => ({ default: (await import('./ShareMenu')).ShareMenu }));

export default function RunPage({ run }: { run: string }) {
  const state = useFilm(run);
  const { film, live, error } = state;
  const playhead = usePlayhead(film);
  const [, move] = useRoute();
  // While the playhead moves, the timeline moves with it; all else follows when there is time.
  const saidAt = useRested(film, playhead.at);
  const { runs, before } = useRecordedSession(
    { app: film?.app ?? '', user: film?.user ?? '', session: film?.session ?? '' },
    run,
  );
  const own = useMemo(
    () => (film ? messagesOf({ run: film.run, said: chatAt(film, saidAt), film, at: saidAt }) : []),
    [film, saidAt],
  );
  const messages = useMemo(() => [...before, ...own], [before, own]);
  const answers = useMemo(() => own.filter(({ role }) => role === 'assistant'), [own]);
  const actions = useMemo<ChatActions>(
    () => ({
      app: film?.app ?? '',
      user: film?.user ?? 'user',
      session: film?.session ?? '',
      conversation: null,
      answer: isRated(film, live) ? { message: answers.at(-1)?.id ?? '', run } : undefined,
      reason: 'This run is read-only. Open its conversation to continue.',
      seek: playhead.seek,
      openPanel: (panel, selected) => move(selected === undefined ? { panel } : { panel, selected }, 'replace'),
      inspect: (step) => move({ panel: 'step', options: { ...currentRoute().options, step } }, 'replace'),
      openTrace: (_, panel = 'timeline') => move({ panel }, 'replace'),
      spoken: film && isSpoken(film) ? { run, answers: answers.map(({ id }) => id) } : undefined,
      onlyAnswer: answers.length === 1 && !live ? answers[0]!.id : undefined,
    }),
    [film, live, answers, run, playhead.seek, move],
  );
  const lineage = useLineage(film?.app ?? '', film?.session ?? '');
  const asked = own.find(({ role }) => role === 'user');
  const said = asked ? textOf(asked).slice(0, 120) : '';
  const turns = useMemo<readonly Turn[]>(() => [{ message: run, said, runs: [run] }], [run, said]);
  // A recording is called as its file was, or as its user named it.
  const title = (film?.session.startsWith(RECORDING) && lineage?.title) || said;
  useTitle(title || 'Run', film?.app ?? '');
  if (!film && error) return <Missing run={run} reason={error} />;
  const items: ShareItem[] = [
    { icon: 'copy', word: 'Copy the conversation as Markdown', copy: () => markdownOf(messages) },
  ];
  return (
    <ChatContext value={actions}>
      <Workspace
        heading={<Heading app={film?.app ?? 'Run'} title={title} run={run} origin={<ForkedFrom lineage={lineage} />} />}
        actions={
          shared() ? null : (
            <>
              <Forks options={film && film.user !== 'user' ? { user: film.user } : {}} lineage={lineage} />
              <Suspense>
                <ShareMenu run={run} app={film?.app ?? ''} items={items} />
              </Suspense>
            </>
          )
        }
        state={state}
        playhead={playhead}
        turns={turns}
        turn={run}
        app={film?.app ?? ''}
        session={film?.session ?? ''}
        empty="Loading the run…"
        chat={
          <div className="chat">
            <MessageList
              messages={messages}
              live={live || playhead.isPast}
              empty={<Empty title="No messages yet">Messages of this run appear here.</Empty>}
            />
            {film && (
              <OnlyLooking film={film} at={playhead.at} live={live}>
                <RunPicker
                  what="session"
                  runs={runs}
                  run={run}
                  pick={(one) => move({ place: { kind: 'run', run: one }, at: null })}
                />
              </OnlyLooking>
            )}
          </div>
        }
      />
    </ChatContext>
  );
}

/** A run that is over, and that the server keeps: one that is read from ADK's session has nothing to keep it with. */
function isRated(film: Film | null, live: boolean): boolean {
  return film !== null && !live && !shared() && !film.run.startsWith('session-');
}

/** The agent was heard: the server may have its sound. */
function isSpoken({ items }: Film): boolean {
  return !shared() && items.said.some(({ is }) => is.kind === 'transcript' && is.speaker !== 'user');
}

function OnlyLooking({ film, at, live, children }: { film: Film; at: number; live: boolean; children: ReactNode }) {
  const isChat = !shared() && !film.session.startsWith(RECORDING);
  const options: Record<string, string> = film.user === 'user' ? {} : { user: film.user };
  return (
    <div className="looking">
      <Icon name="clock" />
      <span>{isChat ? 'Read-only run' : 'Read-only recording'}</span>
      {children}
      {isChat && (
        <a
          className="button"
          href={formatRoute({ ...HOME, place: { kind: 'chat', app: film.app, session: film.session }, options })}
        >
          Open the conversation
        </a>
      )}
      {!isChat && !shared() && !live && <Continue film={film} at={at} />}
    </div>
  );
}

function Missing({ run, reason }: { run: string; reason: string }) {
  return (
    <div className="unopened">
      <h1>{`Run ${run}`}</h1>
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{`Could not open this run: ${reason}`}</span>
        {!shared() && (
          <span className="actions">
            <a className="button" href={linkTo({ kind: 'home' })}>
              Back to Home
            </a>
          </span>
        )}
      </div>
    </div>
  );
}

/**
 * Go on with a run that was recorded elsewhere: a new session of an app of this server, with what was said as its
 * history.
 */
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
      go({
        ...HOME,
        place: { kind: 'chat', app: made.app, session: made.session },
        options: made.user === 'user' ? {} : { user: made.user },
      });
    } catch (error) {
      setProblem(explain(error));
      setSending(false);
    }
  };
  if (!apps) return null;
  if (!names.length) return <span className="muted">This server has no app that could continue it.</span>;
  return (
    <span className="continue">
      {problem && <span role="alert">{problem}</span>}
      {!isServed && (
        <>
          <span className="muted">
            {film.captured ? 'It does not name its app.' : `This server has no app “${film.app}”.`}
          </span>
          <select
            className="field"
            aria-label="App that continues it"
            value={chosen}
            onChange={(event) => setChosen(event.target.value)}
          >
            <option value="">Choose an app</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </>
      )}
      <button
        type="button"
        className="button"
        disabled={!app || isSending}
        title="A new session with what was said up to this event. No tool runs, and nothing that was asked is asked again."
        onClick={begin}
      >
        Continue in a chat
      </button>
    </span>
  );
}
