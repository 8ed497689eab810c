/** One message: who speaks, its parts in order, its sources, and below it what it cost and what can be done with it. */
import { memo, Suspense, useMemo, useState } from 'react';
import { lazyWithRetry } from '../app/lazyWithRetry';
import { linkTo } from '../app/route';
import { Copy } from '../ui/Copy';
import { Icon } from '../ui/Icon';
import { KindChip } from '../ui/Kind';
import { plural } from '../ui/format';
import { useActions } from './ChatContext';
import { markdownOf } from './export';
import { finishWords } from './finishReason';
import { isEmptyAnswer, standing, textOf, type Message } from './message';
import { MessageCost } from './MessageCost';
import { Parts } from './Parts';
import { Ending, Sound } from './parts/Notes';
import { useRun } from './RunContext';
import { Sources } from './parts/Sources';
import { sourcesOf } from './sources';
import * as words from '../words/chat';

// Below answers that are complete: until then nobody needs them.
const VersionPicker = lazyWithRetry(async () => ({ default: (await import('./VersionPicker')).VersionPicker }));
const Feedback = lazyWithRetry(async () => ({ default: (await import('./FeedbackButtons')).Feedback }));

type Props = {
  message: Message;
  /** Its stream is open. */
  live: boolean;
  last: boolean;
  /** Its run was stopped. */
  stopped?: boolean;
  isAnswered: (request: string) => boolean;
};

export const MessageView = memo(function MessageView(props: Props) {
  return props.message.role === 'user' ? <UserMessage {...props} /> : <AssistantMessage {...props} />;
});

function UserMessage({ message, isAnswered }: Props) {
  const { conversation, isTalking } = useActions();
  const [draft, setDraft] = useState<string | null>(null);
  const text = textOf(message);
  const save = () => {
    if (draft?.trim()) void conversation?.edit(message, draft.trim());
    setDraft(null);
  };
  return (
    <article className="message" data-role="user" data-message={message.id} aria-label={words.you}>
      {draft === null ? (
        <div className="bubble">
          <Parts parts={message.parts} live={false} last={false} fromUser message={message} isAnswered={isAnswered} />
        </div>
      ) : (
        <div className="edit">
          <textarea className="field" autoFocus rows={3} aria-label={words.editYourMessage} value={draft} onChange={(event) => setDraft(event.target.value)} onKeyDown={(event) => event.key === 'Escape' && setDraft(null)} />
          <div className="row">
            <button type="button" className="button" data-look="primary" onClick={save}>
              {words.resend}
            </button>
            <button type="button" className="button" data-look="quiet" onClick={() => setDraft(null)}>
              {words.cancel}
            </button>
            <span className="quiet">{words.laterMessagesAreKept}</span>
          </div>
        </div>
      )}
      {draft === null && text && (
        <div className="message-actions">
          <Copy text={text} label={words.copyMessage} />
          {conversation && !isTalking && (
            <button type="button" className="button" data-look="quiet" data-square="" title={words.edit} aria-label={words.editMessage} onClick={() => setDraft(text)}>
              <Icon name="edit" />
            </button>
          )}
        </div>
      )}
    </article>
  );
}

function AssistantMessage({ message, live, last, stopped = false, isAnswered }: Props) {
  const { conversation, isTalking = false } = useActions();
  const sources = useMemo(() => sourcesOf(message), [message]);
  const { metadata } = message;
  const sound = conversation?.sounds.of(message.id) ?? [];
  return (
    <article className="message" data-role="assistant" data-message={message.id} aria-label={words.agent}>
      <Parts parts={standing(message)} live={live} last={last || isTalking} fromUser={false} message={message} isAnswered={isAnswered} />
      {(sound.length > 0 || metadata?.audio) && <Sound pieces={live ? [] : sound} audio={metadata?.audio} load={async () => (await import('./fetchAudio')).fetchAudio(metadata?.runId ?? '', message.id)} />}
      <Sources sources={sources} />
      {!live && <Ending stopped={stopped} empty={isEmptyAnswer(message)} />}
      {!live && <Footer message={message} last={last} />}
    </article>
  );
}

function Footer({ message, last }: { message: Message; last: boolean }) {
  const { conversation, isTalking, isBusy } = useActions();
  const { usage, modelVersion, adkFinishReason, finishMessage, runId } = message.metadata ?? {};
  const finish = finishWords(adkFinishReason);
  return (
    <footer className="message-foot">
      <div className="message-actions">
        <Suspense>
          <VersionPicker message={message.id} />
        </Suspense>
        <Copy text={() => markdownOf([message])} label={words.copyAsMarkdown} />
        {conversation && !isTalking && (
          <button type="button" className="button" data-look="quiet" data-square="" title={last ? words.regenerateR : words.regenerateFromHere} aria-label={words.regenerate} disabled={isBusy} onClick={() => conversation.regenerate(message.id)}>
            <Icon name="retry" />
          </button>
        )}
        <Suspense>
          <Feedback message={message} />
        </Suspense>
        {runId && (
          <a className="button" data-look="quiet" href={linkTo({ kind: 'run', run: runId })} title={words.openThisRun}>
            <Icon name="clock" /> {words.run}
          </a>
        )}
      </div>
      <span className="message-facts">
        {finish && (
          <KindChip kind={finish.kind} title={finishMessage}>
            {finish.word}
          </KindChip>
        )}
        {finishMessage && <span>{finishMessage}</span>}
        {modelVersion && <span>{modelVersion}</span>}
        {usage?.totalTokens !== undefined && (
          <span title={usageTitle(usage)}>{plural(usage.totalTokens, 'token')}</span>
        )}
        <MessageCost message={message.id} last={last} />
        {runId && <ModelCalls run={runId} />}
      </span>
    </footer>
  );
}

/** What was sent to the model: beside the chat, or where the panels show another run, with that run. */
function ModelCalls({ run }: { run: string }) {
  const { openPanel } = useActions();
  const isShown = useRun()?.run === run;
  const show = (event: { preventDefault(): void }) => {
    if (!isShown) return;
    event.preventDefault();
    openPanel('model');
  };
  return (
    <a href={linkTo({ kind: 'run', run }, 'model')} title={words.seeWhatWasSent} onClick={show}>
      {words.modelCalls}
    </a>
  );
}

function usageTitle(usage: NonNullable<Message['metadata']>['usage']): string {
  const counts = [
    ['in', usage?.inputTokens],
    ['out', usage?.outputTokens],
    ['reasoning', usage?.reasoningTokens],
    ['cached', usage?.cachedInputTokens],
    [words.modelCallsNoun, usage?.modelCalls?.length],
  ] as const;
  return counts.flatMap(([name, count]) => (count === undefined ? [] : [`${name} ${count}`])).join(' · ');
}
