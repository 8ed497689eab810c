/** The chat's column: messages, what went wrong, the voice if there is one, and the composer. */
import type { ChatStatus, FileUIPart } from 'ai';
import { Suspense, useState, useSyncExternalStore } from 'react';
import { Failure } from '../app/Failure';
import { explain } from '../app/problem';
import { Empty } from '../ui/Empty';
import { Traceback } from '../ui/Traceback';
import { Icon } from '../ui/Icon';
import { isUsable, mayTalk, useApp, useCatalogue, useLoaded } from '../app/catalogue';
import { lazyWithRetry } from '../app/lazyWithRetry';
import { Composer } from './Composer';
import type { Conversation } from './conversation';
import type { ConnectionState } from './connectionState';
import { readDraft } from './draft';
import { MessageList } from './MessageList';
import type { Message } from './message';
import { asksForPlan, useWaitingPlan } from './waitingPlan';
import * as words from '../words/chat';
import './chat.css';

const PlanRequest = lazyWithRetry(() => import('./parts/PlanRequest'));
const VoiceBar = lazyWithRetry(() => import('../voice/VoiceBar'));

type Props = {
  conversation: Conversation;
  messages: readonly Message[];
  /** Ids of those that were stopped. */
  stopped: ReadonlySet<string>;
  status: ChatStatus | 'past';
  isLive: boolean;
  failure: string;
  /** The messages are an earlier version of the conversation. */
  isEarlier: boolean;
  link: ConnectionState;
  blocked: string;
  /** Key of what is being typed. */
  draft: string;
  onSend(text: string, files: FileUIPart[]): Promise<boolean>;
  onStop(): void;
  onRetry(): void;
  onStartOver(text: string): void;
};

export function ChatView(props: Props) {
  const { conversation, messages, status, isLive, blocked, draft, onSend, onStop } = props;
  const [voice, setVoice] = useState<'off' | 'loading' | 'shown'>('off');
  const saying = useSyncExternalStore(conversation.watch, conversation.getSaying);
  const app = useApp(conversation.where.app);
  useLoaded(app);
  const isBusy = status === 'submitted' || status === 'streaming';
  const talk = app && mayTalk(app) && voice === 'off' ? () => setVoice('loading') : null;
  // What is typed in the moment before the voice is there belongs to it: it stays in the field until then.
  const send: Props['onSend'] = async (text, files) => voice !== 'loading' && onSend(text, files);
  return (
    <div className="chat">
      <MessageList messages={messages} stopped={props.stopped} live={isLive} saying={status === 'past' ? '' : saying} empty={<Beginning app={conversation.where.app} onSend={onSend} onTalk={blocked ? null : talk} />}>
        {status === 'submitted' && (
          <p className="waiting" role="status">
            <span className="pulse" aria-hidden="true" /> {words.waitingForTheAgent}
          </p>
        )}
        {!isBusy && status !== 'past' && <WaitingPlan message={messages.at(-1)} />}
        {props.isEarlier && <EarlierVersion conversation={conversation} />}
        <Trouble {...props} />
        <Unloadable app={conversation.where.app} />
      </MessageList>
      {voice !== 'off' && (
        <Failure what={words.voiceChat}>
          <Suspense fallback={null}>
            <VoiceBar conversation={conversation} isOffline={app?.offline ?? false} onBegin={() => setVoice('shown')} onClose={() => setVoice('off')} />
          </Suspense>
        </Failure>
      )}
      <Composer app={conversation.where.app} chat={draft} isBusy={isBusy} blocked={blocked} onSend={send} onStop={onStop} onTalk={talk} />
    </div>
  );
}

/** Says what a message would follow, and leads back. */
function EarlierVersion({ conversation }: { conversation: Conversation }) {
  const [problem, setProblem] = useState('');
  return (
    <div className="notice" data-kind="neutral" role="status">
      <Icon name="clock" />
      <span>{problem || words.earlierVersionIfYouSend}</span>
      <span className="actions">
        <button type="button" className="button" onClick={() => void conversation.lookAt('').catch((error: unknown) => setProblem(explain(error)))}>
          {words.showTheCurrentVersion}
        </button>
      </span>
    </div>
  );
}

/** A search plan that waits, where no call of the last message asks for the same. */
function WaitingPlan({ message }: { message: Message | undefined }) {
  const plan = useWaitingPlan();
  if (!plan || message?.role !== 'assistant' || asksForPlan(plan, message)) return null;
  return (
    <div role="group" className="request" data-kind="approval" aria-label={words.searchPlan}>
      <p className="request-head">
        <Icon name="approval" />
        <strong>{words.runThisSearch}</strong>
        <code>{String(plan.query ?? '')}</code>
      </p>
      <Suspense>
        <PlanRequest />
      </Suspense>
    </div>
  );
}

/** Says why an app could not be loaded: nothing can be said to it until its files change. */
function Unloadable({ app }: { app: string }) {
  const { apps, load } = useCatalogue();
  const entry = apps?.find((known) => known.name === app);
  if (entry === undefined || isUsable(entry)) return null;
  return (
    <div className="notice" data-kind="error" role="alert">
      <Icon name="error" />
      <span>{entry.error ?? entry.problem}</span>
      <span className="actions">
        <button type="button" className="button" onClick={() => load(app)}>
          {words.tryAgain}
        </button>
      </span>
    </div>
  );
}

function Trouble({ conversation, link, failure, onRetry, onStartOver, draft }: Props) {
  if (link.kind === 'gone') {
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{words.sessionWasDeletedItsMessages}</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => onStartOver(readDraft(draft))}>
            {words.startANewChat}
          </button>
        </span>
      </div>
    );
  }
  if (link.kind === 'lost') {
    return (
      <div className="notice" data-kind="approval" role="status">
        <Icon name="retry" />
        <span>{words.connectionLostTheRunContinues}</span>
      </div>
    );
  }
  if (link.kind === 'refused') {
    return (
      <div className="notice" data-kind="approval" role="alert">
        <Icon name="error" />
        <span>{words.answerWasNotAccepted(link.reason)}</span>
      </div>
    );
  }
  if (link.kind === 'stale') {
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>{words.conversationHasContinuedElsewhere}</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => void conversation.reload()}>
            <Icon name="retry" /> {words.reloadTheConversation}
          </button>
        </span>
      </div>
    );
  }
  const unsent = link.kind === 'unsent' && (link.isStale ? words.messageWasNotSentYet : words.messageWasNotSent);
  const reason = unsent || failure;
  if (!reason) return null;
  return (
    <div className="notice" data-kind="error" role="alert">
      <Icon name="error" />
      <span className="trouble">
        {reason}
        <Traceback text={reason} />
      </span>
      <span className="actions">
        <button type="button" className="button" onClick={onRetry}>
          <Icon name="retry" /> {words.tryAgain}
        </button>
      </span>
    </div>
  );
}

const SHOWN = 8;

/** An empty chat offers what the app offers. */
function Beginning({ app, onSend, onTalk }: { app: string; onSend: Props['onSend']; onTalk: (() => void) | null }) {
  const prompts = useApp(app)?.prompts ?? [];
  return (
    <Empty title={words.newChatWith(app)}>
      <p>{words.sendAMessageToStart}</p>
      <ul className="prompts">
        {prompts.slice(0, SHOWN).map((prompt) => (
          <li key={prompt.prompt}>
            <button type="button" title={prompt.shows} onClick={() => void onSend(prompt.prompt, [])}>
              {prompt.prompt}
            </button>
          </li>
        ))}
      </ul>
      {onTalk && (
        <button type="button" className="button" onClick={onTalk}>
          <Icon name="mic" /> {words.talkTo(app)}
        </button>
      )}
    </Empty>
  );
}
