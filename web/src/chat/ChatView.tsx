/** The chat's column: messages, what went wrong, the voice if there is one, and the composer. */
import type { ChatStatus, FileUIPart } from 'ai';
import { Suspense, useState, useSyncExternalStore } from 'react';
import { Failure, lazyWithRetry } from '../app/Failure';
import { explain } from '../app/server';
import { Empty } from '../ui/elements';
import { Traceback } from '../ui/Traceback';
import { Icon } from '../ui/Icon';
import { isUsable, mayTalk, useApp, useCatalogue, useLoaded } from '../app/catalogue';
import { uploadFile } from '@adk-prism/client';
import { Composer } from './Composer';
import type { Conversation, ConnectionState } from './conversation';
import { readDraft } from '../app/drafts';
import { MessageList } from './MessageList';
import { connectionOf } from './transport';
import type { Message } from './message';
import type { Where } from './transport';
import { useFeatures } from '../features/registry';
import { asksForPlan, useWaitingPlan } from '../features/grounding/grounding';
import './chat.css';

const PlanRequest = lazyWithRetry(() => import('../features/grounding/PlanRequest'));
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
  /** The address names a conversation that the server does not have. */
  isMissing: boolean;
  link: ConnectionState;
  blocked: string;
  /** The past is shown: a reply from there creates a fork. */
  isForking?: boolean;
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
  // Why an app does not load is said once: what failed because of it says nothing more.
  const entry = useCatalogue().apps?.find((known) => known.name === conversation.where.app);
  const isUnloadable = entry !== undefined && !isUsable(entry);
  const isBusy = status === 'submitted' || status === 'streaming';
  const talk = app && mayTalk(app) && voice === 'off' ? () => setVoice('loading') : null;
  // What is typed in the moment before the voice is there belongs to it: it stays in the field until then.
  const send: Props['onSend'] = async (text, files) => voice !== 'loading' && onSend(text, files);
  return (
    <div className="chat">
      <MessageList
        messages={messages}
        stopped={props.stopped}
        live={isLive}
        saying={status === 'past' ? '' : saying}
        empty={
          <Beginning
            app={conversation.where.app}
            isMissing={props.isMissing}
            onSend={onSend}
            onTalk={blocked ? null : talk}
          />
        }
      >
        {status === 'submitted' && (
          <p className="waiting" role="status">
            <span className="pulse" aria-hidden="true" /> Waiting for the agent…
          </p>
        )}
        {!isBusy && status !== 'past' && <WaitingPlan message={messages.at(-1)} />}
        {status === 'ready' && voice === 'off' && !blocked && (
          <BelowLast where={conversation.where} message={messages.at(-1)} onSay={(text) => void onSend(text, [])} />
        )}
        {props.isEarlier && <EarlierVersion conversation={conversation} />}
        {isUnloadable ? <Unloadable app={conversation.where.app} /> : <Trouble {...props} />}
      </MessageList>
      {voice !== 'off' && (
        <Failure what="Voice chat">
          <Suspense fallback={null}>
            <VoiceBar
              conversation={conversation}
              isOffline={app?.offline ?? false}
              onBegin={() => setVoice('shown')}
              onClose={() => setVoice('off')}
            />
          </Suspense>
        </Failure>
      )}
      <Composer
        app={conversation.where.app}
        chat={draft}
        isBusy={isBusy}
        blocked={blocked}
        isForking={props.isForking ?? false}
        onSend={send}
        onStop={onStop}
        onTalk={talk}
        upload={voice === 'off' ? (file, options) => uploadFile(connectionOf(conversation.where), file, options) : null}
      />
    </div>
  );
}

/** Says what a message would follow, and leads back. */
function EarlierVersion({ conversation }: { conversation: Conversation }) {
  const [problem, setProblem] = useState('');
  return (
    <div className="notice" data-kind="neutral" role="status">
      <Icon name="clock" />
      <span>
        {problem || 'This is an earlier version. If you send a message, the conversation continues from here.'}
      </span>
      <span className="actions">
        <button
          type="button"
          className="button"
          onClick={() => void conversation.lookAt('').catch((error: unknown) => setProblem(explain(error)))}
        >
          Show the current version
        </button>
      </span>
    </div>
  );
}

/** What features show below the last answer. */
function BelowLast({ where, message, onSay }: { where: Where; message?: Message; onSay: (text: string) => void }) {
  const features = useFeatures();
  if (message?.role !== 'assistant') return null;
  return (
    <Suspense>
      {features.map(
        ({ name, BelowChat }) => BelowChat && <BelowChat key={name} where={where} message={message} onSay={onSay} />,
      )}
    </Suspense>
  );
}

/** A search plan that waits, where no call of the last message asks for the same. */
function WaitingPlan({ message }: { message: Message | undefined }) {
  const plan = useWaitingPlan();
  if (!plan || message?.role !== 'assistant' || asksForPlan(plan, message)) return null;
  return (
    <div role="group" className="request" data-kind="approval" aria-label="Search plan">
      <p className="request-head">
        <Icon name="approval" />
        <strong>Run this search?</strong>
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
          Try again
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
        <span>This session was deleted. Its messages are only left on this page.</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => onStartOver(readDraft(draft))}>
            Start a new chat
          </button>
        </span>
      </div>
    );
  }
  if (link.kind === 'lost') {
    return (
      <div className="notice" data-kind="approval" role="status">
        <Icon name="retry" />
        <span>Connection lost. The run continues on the server. Reconnecting…</span>
      </div>
    );
  }
  if (link.kind === 'refused') {
    return (
      <div className="notice" data-kind="approval" role="alert">
        <Icon name="error" />
        <span>{`Your answer was not accepted: ${link.reason} The conversation was reloaded from the server.`}</span>
      </div>
    );
  }
  if (link.kind === 'stale') {
    return (
      <div className="notice" data-kind="error" role="alert">
        <Icon name="error" />
        <span>This conversation has continued elsewhere, perhaps in another tab, so your message was not sent.</span>
        <span className="actions">
          <button type="button" className="button" onClick={() => void conversation.reload()}>
            <Icon name="retry" /> Reload the conversation
          </button>
        </span>
      </div>
    );
  }
  const unsent =
    link.kind === 'unsent' &&
    (link.isStale
      ? 'Your message was not sent yet. Above it is what was added elsewhere.'
      : 'Your message was not sent: the server could not be reached.');
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
          <Icon name="retry" /> Try again
        </button>
      </span>
    </div>
  );
}

const SHOWN = 8;

/** An empty chat offers what the app offers. */
type BeginningProps = Pick<Props, 'isMissing' | 'onSend'> & { app: string; onTalk: (() => void) | null };

function Beginning({ app, isMissing, onSend, onTalk }: BeginningProps) {
  const prompts = useApp(app)?.prompts ?? [];
  return (
    <Empty title={isMissing ? 'This conversation does not exist' : `New chat with ${app}`}>
      {isMissing && (
        <p role="alert">It was deleted, or the link is wrong. If you send a message, a new conversation starts here.</p>
      )}
      <p>Send a message to start.</p>
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
          <Icon name="mic" /> {`Talk to ${app}`}
        </button>
      )}
    </Empty>
  );
}
