/** A chat, and the panels of its last run. */
import { loadMessages } from '@adk-prism/client/ai';
import { useChat } from '@ai-sdk/react';
import {
  Suspense,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useCatalogue } from '../app/catalogue';
import { useKeys } from '../app/keys';
import { isFresh, settle, startChat, takeFirst, draftKey, restoreUnsent } from '../app/drafts';
import { explain } from '../app/server';
import { linkTo, useRoute } from '../app/route';
import { ChatContext, type ChatActions } from '../chat/ChatContext';
import { ChatView } from '../chat/ChatView';
import { Conversation } from '../chat/conversation';
import { curlOf, fileName, markdownOf } from '../chat/export';
import { textOf, type Message, copyMessages } from '../chat/message';
import { messagesOf } from '../chat/filmMessages';
import { connectionOf, type Where, isLost } from '../chat/transport';
import { isEarlier } from '../chat/versions';
import { useVersions, useLineage, useStopped, useMessageRuns } from './sessionData';
import { conversationAt } from '../film/conversation';
import { useFilm, useFilms } from '../film/useFilm';
import { Icon } from '../ui/Icon';
import { Heading, ForkedFrom, Forks, RunPicker } from './Heading';
import { usePlayhead } from './playhead';
import { lazyWithRetry } from '../app/Failure';
import type { ShareItem } from './ShareMenu';
import { Workspace } from './Workspace';

const ShareMenu = lazyWithRetry(async () => ({ default: (await import('./ShareMenu')).ShareMenu }));

type Loaded = { kind: 'loading' } | { kind: 'failed'; reason: string } | { kind: 'ready'; conversation: Conversation };

export default function ChatPage({ where }: { where: Where }) {
  const [state, setState] = useState<Loaded>({ kind: 'loading' });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each chat has a page of its own
  useEffect(() => {
    const leaving = new AbortController();
    let opened: Conversation | null = null;
    void open(where, leaving.signal).then((next) => {
      if (leaving.signal.aborted) return;
      if (next.kind === 'ready') opened = next.conversation;
      setState(next);
    });
    return () => {
      leaving.abort();
      opened?.close();
    };
  }, []);
  switch (state.kind) {
    case 'loading':
      return <div className="skeleton page-skeleton" />;
    case 'failed':
      return <Unopened where={where} reason={state.reason} />;
    case 'ready':
      return <OpenChat conversation={state.conversation} />;
  }
}

async function open(where: Where, signal: AbortSignal): Promise<Loaded> {
  restoreUnsent(draftKey(where));
  if (isFresh(where.session)) return { kind: 'ready', conversation: new Conversation(where, []) };
  try {
    const messages = await loadMessages<Message>(connectionOf(where), where.session, signal);
    return { kind: 'ready', conversation: new Conversation(where, messages) };
  } catch (error) {
    return { kind: 'failed', reason: explain(error) };
  }
}

function Unopened({ where, reason }: { where: Where; reason: string }) {
  return (
    <div className="unopened">
      <h1>{where.app}</h1>
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{`Could not open this chat: ${reason}`}</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => location.reload()}>
            Try again
          </button>
          <a className="button" href={linkTo({ kind: 'home' })}>
            Back to Home
          </a>
        </span>
      </div>
    </div>
  );
}

/** Tokens may come faster than pictures: a message is drawn once a frame at most. */
const FRAME_MS = 16;

function OpenChat({ conversation }: { conversation: Conversation }) {
  const { where } = conversation;
  const { messages: received, status, error } = useChat({ chat: conversation.chat, throttle: FRAME_MS });
  const messages = useMemo(() => copyMessages(received), [received]);
  const link = useSyncExternalStore(conversation.watch, conversation.getLink);
  const isTalking = useSyncExternalStore(conversation.watch, conversation.getLive) !== null;
  const { refresh, conversations } = useCatalogue();
  const lineage = useLineage(where.app, where.session);
  const [{ options }, move] = useRoute();
  const isBusy = status === 'submitted' || status === 'streaming';
  useOpening(conversation);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end of a voice chat lists it, too
  useEffect(() => {
    if (!isBusy) refresh();
  }, [isBusy, isTalking, refresh]);

  const versions = useVersions(where, isBusy || isTalking, messages.at(-1)?.id ?? '');
  const stopped = useStopped(where, isBusy || isTalking ? 0 : messages.length);
  const runs = useMessageRuns(
    where,
    useMemo(() => lastAnswer(messages), [messages]),
  );
  const spoken = runs.at(-1) ?? null;
  // A change of the state alone is a run, and no message: it is looked at until somebody speaks.
  const [changed, setChanged] = useState<{ after: string | null; run: string } | null>(() =>
    options.changed ? { after: lastAnswer(messages)?.metadata?.runId ?? null, run: options.changed } : null,
  );
  const run =
    changed && changed.after === spoken ? changed.run : runs.includes(options.run ?? '') ? options.run! : spoken;
  const filmState = useFilm(run);
  const { film } = filmState;
  const playhead = usePlayhead(film, run !== spoken && run !== changed?.run);
  const saidAt = useDeferredValue(playhead.at);
  const before = useMemo(
    () => (playhead.isPast ? runs.slice(0, Math.max(0, runs.indexOf(run ?? ''))) : []),
    [runs, run, playhead.isPast],
  );
  const films = useFilms(before);
  const shown = useMemo(() => {
    if (!playhead.isPast || !film) return messages;
    const answer = runs.includes(film.run)
      ? messages.findIndex((message) => runs.includes(message.metadata?.runId ?? ''))
      : -1;
    const earlier = messages.slice(0, answer < 0 ? messages.length : answer);
    const answered = earlier.at(-1)?.role === 'user' ? earlier.slice(0, -1) : earlier;
    const tellings = films.map((whole) => ({ run: whole.run, said: conversationAt(whole, whole.last), film: whole }));
    return [...answered, ...messagesOf(...tellings, { run: film.run, said: conversationAt(film, saidAt), film })];
  }, [messages, runs, film, films, playhead.isPast, saidAt]);

  const blocked = playhead.isPast
    ? 'Return to the latest event to reply.'
    : link.kind === 'gone'
      ? 'This session was deleted.'
      : '';
  const actions = useMemo<ChatActions>(
    () => ({
      ...where,
      conversation: blocked ? null : conversation,
      isTalking,
      isBusy,
      versions,
      reason: blocked,
      seek: playhead.seek,
      openPanel: (panel, selected) => move(selected === undefined ? { panel } : { panel, selected }, 'replace'),
    }),
    [where, conversation, isTalking, isBusy, versions, blocked, playhead.seek, move],
  );
  const say = useMemo(
    () =>
      blocked || isBusy || isTalking
        ? undefined
        : (text: string, stateDelta?: Record<string, unknown>) => conversation.say(text, [], stateDelta),
    [conversation, blocked, isBusy, isTalking],
  );
  const follow = useCallback((next: string) => setChanged({ after: spoken, run: next }), [spoken]);
  useKeys({
    write: () => document.getElementById('composer')?.focus(),
    stop: () => void conversation.stop(),
    regenerate: () => void (!isBusy && !blocked && messages.length > 0 && conversation.regenerate()),
  });
  const failure = error && !isLost(error) ? explain(error) : isBusy ? '' : (messages.at(-1)?.metadata?.failure ?? '');
  const isDerived = lastAnswer(messages)?.metadata?.derived ?? false;
  const listed = conversations?.find(({ app, session }) => app === where.app && session === where.session);
  const title = listed?.title || (messages[0] ? textOf(messages[0]).slice(0, 120) : 'New chat');
  return (
    <ChatContext value={actions}>
      <Workspace
        heading={
          <Heading
            app={where.app}
            title={title}
            run={run}
            isDerived={isDerived}
            origin={<ForkedFrom lineage={lineage} />}
          />
        }
        actions={
          <>
            <RunPicker
              runs={runs}
              run={run}
              pick={(one) => move({ at: null, options: { ...options, run: one === spoken ? '' : one } }, 'replace')}
            />
            <Forks options={where.user === 'user' ? {} : { user: where.user }} lineage={lineage} />
            <Suspense>
              <ShareMenu run={run} app={where.app} items={exports(where, title, messages)} />
            </Suspense>
          </>
        }
        state={filmState}
        playhead={playhead}
        part={
          runs.length > 1 && runs.includes(run ?? '')
            ? `run ${runs.indexOf(run ?? '') + 1} of ${runs.length} of this answer`
            : ''
        }
        app={where.app}
        session={where.session}
        say={say}
        follow={follow}
        empty={
          isDerived
            ? 'This server did not record this conversation: it is read from the ADK session. New messages are recorded.'
            : 'Nothing yet. Send a message first.'
        }
        chat={
          <ChatView
            conversation={conversation}
            messages={shown}
            stopped={stopped}
            status={playhead.isPast ? 'past' : status}
            isLive={playhead.isPast || isBusy}
            failure={playhead.isPast ? '' : failure}
            isEarlier={!isBusy && isEarlier(messages, versions)}
            link={link}
            blocked={blocked}
            draft={draftKey(where)}
            onSend={(text, files) => conversation.say(text, files)}
            onStop={() => void conversation.stop()}
            onRetry={() => void conversation.retry()}
            onStartOver={(text) => startChat(where.app, text)}
          />
        }
      />
    </ChatContext>
  );
}

/** Send what was written at home, or go on with what runs. */
function useOpening(conversation: Conversation): void {
  const isOpened = useRef(false);
  useEffect(() => {
    if (isOpened.current) return;
    isOpened.current = true;
    const { session } = conversation.where;
    const first = takeFirst(session);
    if (first) void conversation.say(first);
    else if (!isFresh(session)) void conversation.resume();
    settle(session);
  }, [conversation]);
}

function lastAnswer(messages: readonly Message[]): Message | undefined {
  return messages.findLast((message) => message.metadata?.runId);
}

function exports(where: Where, title: string, messages: readonly Message[]): ShareItem[] {
  const name = fileName(title, where.session);
  const lastText = () =>
    textOf(messages.findLast((message) => message.role === 'user') ?? { id: '', role: 'user', parts: [] }) || 'Hello';
  return [
    { icon: 'code', word: 'Copy as curl', copy: () => curlOf(where, lastText()) },
    { icon: 'copy', word: 'Copy the conversation as Markdown', copy: () => markdownOf(messages) },
    {
      icon: 'download',
      word: 'Conversation (Markdown)',
      save: () => markdownOf(messages),
      name: `${name}.md`,
      type: 'text/markdown',
    },
    {
      icon: 'download',
      word: 'Conversation (JSON)',
      save: () => JSON.stringify(messages, null, 2),
      name: `${name}.json`,
      type: 'application/json',
    },
  ];
}
