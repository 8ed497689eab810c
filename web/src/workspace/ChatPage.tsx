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
import { isFresh, settle, startChat, takeFirst, draftKey, restoreUnsent, wasOpenedHere } from '../app/drafts';
import { explain, getJson, path, Problem } from '../app/server';
import { currentRoute, go, linkTo, useRoute } from '../app/route';
import { ChatContext, type ChatActions } from '../chat/ChatContext';
import { ChatView } from '../chat/ChatView';
import { Conversation } from '../chat/conversation';
import { curlOf, fileName, markdownOf } from '../chat/export';
import { failingTool, withExceptions } from '../chat/blame';
import { textOf, type Message, copyMessages } from '../chat/message';
import { messagesOf } from '../chat/filmMessages';
import { connectionOf, type Where, isLost } from '../chat/transport';
import { isEarlier } from '../chat/versions';
import { useVersions, useLineage, useEndings, useTurns } from './sessionData';
import { useFeatures } from '../features/registry';
import type { Turn } from '../features/tree/rows';
import { chatAt } from '../film/conversation';
import { forkAndOpen, whyNoFork } from '../film/fork';
import { joinedWith, partsOf } from '../film/joined';
import { useFilm, useFilms } from '../film/useFilm';
import { Icon } from '../ui/Icon';
import { useTitle } from '../ui/hooks';
import { Heading, ForkedFrom, Forks } from './Heading';
import { usePlayhead } from './playhead';
import { lazyWithRetry } from '../app/Failure';
import type { ShareItem } from './ShareMenu';
import { Workspace } from './Workspace';

const ShareMenu = lazyWithRetry(async () => ({ default: (await import('./ShareMenu')).ShareMenu }));

type Loaded =
  | { kind: 'loading' }
  | { kind: 'failed'; reason: string }
  | { kind: 'ready'; conversation: Conversation; isMissing?: boolean };

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
      return <OpenChat conversation={state.conversation} isMissing={state.isMissing ?? false} />;
  }
}

async function open(where: Where, signal: AbortSignal): Promise<Loaded> {
  restoreUnsent(draftKey(where));
  if (isFresh(where.session)) return { kind: 'ready', conversation: new Conversation(where, []) };
  try {
    const messages = await loadMessages<Message>(connectionOf(where), where.session, signal);
    const isMissing = messages.length === 0 && !wasOpenedHere(where.session) && !(await isKnown(where, signal));
    return { kind: 'ready', conversation: new Conversation(where, messages), isMissing };
  } catch (error) {
    return { kind: 'failed', reason: explain(error) };
  }
}

/** Tell whether the server has such a session; yes, where it cannot be asked. */
async function isKnown({ app, user, session }: Where, signal: AbortSignal): Promise<boolean> {
  try {
    await getJson(path('apps', app, 'users', user, 'sessions', session), signal);
    return true;
  } catch (error) {
    return !(error instanceof Problem && error.status === 404);
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

function OpenChat({ conversation, isMissing }: { conversation: Conversation; isMissing: boolean }) {
  const { where } = conversation;
  const { messages: received, status, error } = useChat({ chat: conversation.chat, throttle: FRAME_MS });
  const messages = useMemo(() => copyMessages(received), [received]);
  const link = useSyncExternalStore(conversation.watch, conversation.getLink);
  const isTalking = useSyncExternalStore(conversation.watch, conversation.getLive) !== null;
  const { refresh, conversations } = useCatalogue();
  const lineage = useLineage(where.app, where.session);
  const features = useFeatures();
  const [{ options }, move] = useRoute();
  const isBusy = status === 'submitted' || status === 'streaming';
  useOpening(conversation);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end of a voice chat lists it, too
  useEffect(() => {
    if (!isBusy) refresh();
  }, [isBusy, isTalking, refresh]);

  const versions = useVersions(where, isBusy || isTalking, messages.at(-1)?.id ?? '');
  const isFork = Boolean(lineage?.forkedFrom);
  const { stopped, seconds, originals } = useEndings(where, isBusy || isTalking ? 0 : messages.length, isFork);
  const turns = useTurns(where, messages);
  const spoken = turns.at(-1)?.runs.at(-1) ?? null;
  // A change of the state alone is a run, and no message: it is looked at until somebody speaks.
  const [changed, setChanged] = useState<{ after: string | null; run: string } | null>(() =>
    options.changed ? { after: lastAnswer(messages)?.metadata?.runId ?? null, run: options.changed } : null,
  );
  const isChanged = changed !== null && changed.after === spoken;
  const shownTurns = useMemo<readonly Turn[]>(
    () => (isChanged ? [...turns, { message: changed.run, said: 'State change', runs: [changed.run] }] : turns),
    [turns, isChanged, changed],
  );
  const turn =
    (!isChanged && turns.find(({ runs }) => runs.includes(options.run ?? ''))) || shownTurns.at(-1) || NO_TURN;
  const run = turn.runs.at(-1) ?? null;
  const lastState = useFilm(run);
  const before = useFilms(useMemo(() => turn.runs.slice(0, -1), [turn.runs]));
  const isWhole = before.length === turn.runs.length - 1;
  const film =
    lastState.film && (isWhole && lastState.film.run === run ? joinedWith(before, lastState.film) : lastState.film);
  const filmState = useMemo(() => ({ ...lastState, film }), [lastState, film]);
  const playhead = usePlayhead(film, spoken);
  const saidAt = useDeferredValue(playhead.at);
  const shown = useMemo(() => {
    if (!playhead.isPast || !film || !lastState.film) return messages;
    const answer = messages.findIndex(
      ({ id, metadata }) => id === turn.message || turn.runs.includes(metadata?.runId ?? ''),
    );
    const earlier = messages.slice(0, answer < 0 ? messages.length : answer);
    const answered = earlier.at(-1)?.role === 'user' ? earlier.slice(0, -1) : earlier;
    const tellings = [...(isWhole ? before : []), lastState.film].flatMap((part) => {
      const offset = partsOf(film).find((one) => one.run === part.run)?.offset ?? 0;
      const at = Math.min(part.last, saidAt - offset);
      return at > 0 ? [{ run: part.run, said: chatAt(part, at), film: part, at }] : [];
    });
    return [...answered, ...messagesOf(...tellings)];
  }, [messages, turn, film, lastState.film, before, isWhole, playhead.isPast, saidAt]);

  const noFork = film ? whyNoFork(film, lastState.live) : null;
  const blocked = playhead.isPast ? (noFork ?? '') : link.kind === 'gone' ? 'This session was deleted.' : '';
  const [forkProblem, setForkProblem] = useState('');
  const sendOrFork = async (text: string, files: Parameters<Conversation['say']>[1]) => {
    if (!playhead.isPast || !film) return conversation.say(text, files);
    try {
      await forkAndOpen(film, playhead.at, text);
      return true;
    } catch (problem) {
      setForkProblem(explain(problem));
      return false;
    }
  };
  const actions = useMemo<ChatActions>(
    () => ({
      ...where,
      conversation: blocked || playhead.isPast ? null : conversation,
      isTalking,
      isBusy,
      versions,
      reason: playhead.isPast ? 'You are viewing the past. Go back to now to answer.' : blocked,
      seek: playhead.seek,
      openPanel: (panel, selected) => move(selected === undefined ? { panel } : { panel, selected }, 'replace'),
      inspect: (step) => move({ panel: 'step', options: { ...currentRoute().options, step } }, 'replace'),
      seconds,
      originals,
      openTrace: (answered, panel = 'timeline') => openTrace(turns, answered, panel),
    }),
    [
      where,
      conversation,
      isTalking,
      isBusy,
      versions,
      blocked,
      playhead.isPast,
      playhead.seek,
      move,
      turns,
      seconds,
      originals,
    ],
  );
  const say = useMemo(
    () =>
      blocked || playhead.isPast || isBusy || isTalking
        ? undefined
        : (text: string, stateDelta?: Record<string, unknown>) => conversation.say(text, [], stateDelta),
    [conversation, blocked, playhead.isPast, isBusy, isTalking],
  );
  const follow = useCallback((next: string) => setChanged({ after: spoken, run: next }), [spoken]);
  useKeys({
    write: () => document.getElementById('composer')?.focus(),
    stop: () => void conversation.stop(),
    regenerate: () => void (!isBusy && !blocked && messages.length > 0 && conversation.regenerate()),
  });
  const told = error && !isLost(error) ? explain(error) : isBusy ? '' : (messages.at(-1)?.metadata?.failure ?? '');
  // What the card of a tool tells is not told again.
  const failed = told && failingTool(withExceptions(messages.at(-1)?.parts ?? [], film), told);
  const failure = failed ? `The run failed in ${failed}.` : told;
  const isDerived = lastAnswer(messages)?.metadata?.derived ?? false;
  const listed = conversations?.find(({ app, session }) => app === where.app && session === where.session);
  const title = listed?.title || (messages[0] ? textOf(messages[0]).slice(0, 120) : 'New chat');
  useTitle(title, where.app);
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
            <Forks options={where.user === 'user' ? {} : { user: where.user }} lineage={lineage} />
            <Suspense>
              <ShareMenu run={run} app={where.app} items={exports(where, title, messages)} />
            </Suspense>
          </>
        }
        state={filmState}
        playhead={playhead}
        turns={shownTurns}
        turn={turn.message}
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
          <>
            <Suspense>
              {features.map(
                ({ name, AboveChat }) => AboveChat && <AboveChat key={name} where={where} isBusy={isBusy} />,
              )}
            </Suspense>
            <ChatView
              conversation={conversation}
              messages={shown}
              stopped={stopped}
              status={playhead.isPast ? 'past' : status}
              isLive={playhead.isPast || isBusy}
              failure={playhead.isPast ? forkProblem : failure}
              isEarlier={!isBusy && isEarlier(messages, versions)}
              isMissing={isMissing}
              link={link}
              blocked={blocked}
              draft={draftKey(where)}
              isForking={playhead.isPast}
              onSend={sendOrFork}
              onStop={() => void conversation.stop()}
              onRetry={() => void conversation.retry()}
              onStartOver={(text) => startChat(where.app, text)}
            />
          </>
        }
      />
    </ChatContext>
  );
}

const NO_TURN: Turn = { message: '', said: '', runs: [] };

/** Show the trace of an answer beside the chat, or another panel of it. */
function openTrace(turns: readonly Turn[], answered: string, panel: string): void {
  const route = currentRoute();
  const turn = turns.find(({ runs }) => runs.includes(answered));
  const run = turn === turns.at(-1) ? '' : (turn?.runs.at(-1) ?? '');
  const trace: Record<string, string> = panel === 'timeline' ? { trace: 'open' } : {};
  go({ ...route, at: null, panel, options: { ...route.options, run, step: '', ...trace } });
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
