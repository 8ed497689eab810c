/** One run alone: live, over, uploaded from elsewhere, or in a file without a server. */
import { Suspense, type ReactNode, useDeferredValue, useMemo } from 'react';
import { formatRoute, HOME, linkTo, useRoute } from '../app/route';
import { ChatContext, type ChatActions } from '../chat/ChatContext';
import { markdownOf } from '../chat/export';
import { MessageList } from '../chat/MessageList';
import { textOf } from '../chat/message';
import { messagesOf } from '../chat/filmMessages';
import { conversationAt } from '../film/conversation';
import type { Film } from '../film/film';
import { shared } from '../film/sharedFile';
import { useFilm } from '../film/useFilm';
import { Empty } from '../ui/Empty';
import { Icon } from '../ui/Icon';
import { Continue } from './Continue';
import { Heading } from './Heading';
import { ForkedFrom, Forks } from './Lineage';
import { usePlayhead } from './playhead';
import { RunPicker } from './RunPicker';
import { lazyWithRetry } from '../app/lazyWithRetry';
import type { ShareItem } from './ShareMenu';
import { useLineage } from './useLineage';
import { RECORDING, useRecordedSession } from './useRecordedSession';
import { Workspace } from './Workspace';
import * as words from '../words/workspace';
import '../chat/chat.css';

const ShareMenu = lazyWithRetry(async () => ({ default: (await import('./ShareMenu')).ShareMenu }));

export default function RunPage({ run }: { run: string }) {
  const state = useFilm(run);
  const { film, live, error } = state;
  const playhead = usePlayhead(film);
  const [, move] = useRoute();
  // While the playhead moves, the timeline moves with it; all else follows when there is time.
  const saidAt = useDeferredValue(playhead.at);
  const { runs, before } = useRecordedSession({ app: film?.app ?? '', user: film?.user ?? '', session: film?.session ?? '' }, run);
  const own = useMemo(() => (film ? messagesOf({ run: film.run, said: conversationAt(film, saidAt), film }) : []), [film, saidAt]);
  const messages = useMemo(() => [...before, ...own], [before, own]);
  const actions = useMemo<ChatActions>(
    () => ({
      app: film?.app ?? '',
      user: film?.user ?? 'user',
      session: film?.session ?? '',
      conversation: null,
      answer: isRated(film, live) ? { message: own.findLast(({ role }) => role === 'assistant')?.id ?? '', run } : undefined,
      reason: words.runIsReadOnlyOpen,
      seek: playhead.seek,
      openPanel: (panel, selected) => move(selected === undefined ? { panel } : { panel, selected }, 'replace'),
    }),
    [film, live, own, run, playhead.seek, move],
  );
  const lineage = useLineage(film?.app ?? '', film?.session ?? '');
  if (!film && error) return <Missing run={run} reason={error} />;
  const first = messages[0];
  const said = first?.role === 'user' ? textOf(first).slice(0, 120) : '';
  // A recording is called as its file was, or as its user named it.
  const title = (film?.session.startsWith(RECORDING) && lineage?.title) || said;
  const items: ShareItem[] = [{ icon: 'copy', word: words.copyTheConversationAsMarkdown, copy: () => markdownOf(messages) }];
  return (
    <ChatContext value={actions}>
      <Workspace
        heading={<Heading app={film?.app ?? words.run} title={title} run={run} origin={<ForkedFrom lineage={lineage} />} />}
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
        app={film?.app ?? ''}
        session={film?.session ?? ''}
        empty={words.loadingTheRun}
        chat={
          <div className="chat">
            <MessageList messages={messages} live={live || playhead.isPast} empty={<Empty title={words.noMessagesYet}>{words.messagesOfThisRunAppear}</Empty>} />
            {film && (
              <OnlyLooking film={film} at={playhead.at} live={live}>
                <RunPicker what="session" runs={runs} run={run} pick={(one) => move({ place: { kind: 'run', run: one }, at: null })} />
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

function OnlyLooking({ film, at, live, children }: { film: Film; at: number; live: boolean; children: ReactNode }) {
  const isChat = !shared() && !film.session.startsWith(RECORDING);
  const options: Record<string, string> = film.user === 'user' ? {} : { user: film.user };
  return (
    <div className="looking">
      <Icon name="clock" />
      <span>{isChat ? words.readOnlyRun : words.readOnlyRecording}</span>
      {children}
      {isChat && (
        <a className="button" href={formatRoute({ ...HOME, place: { kind: 'chat', app: film.app, session: film.session }, options })}>
          {words.openTheConversation}
        </a>
      )}
      {!isChat && !shared() && !live && <Continue film={film} at={at} />}
    </div>
  );
}

function Missing({ run, reason }: { run: string; reason: string }) {
  return (
    <div className="unopened">
      <h1>{words.runNamed(run)}</h1>
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{words.couldNotOpenThisRun(reason)}</span>
        {!shared() && (
          <span className="actions">
            <a className="button" href={linkTo({ kind: 'home' })}>
              {words.backToHome}
            </a>
          </span>
        )}
      </div>
    </div>
  );
}
