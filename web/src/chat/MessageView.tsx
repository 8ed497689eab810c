/** One message: who speaks, its parts in order, its sources, and below it what it cost and what can be done with it. */
import { memo, Suspense, useMemo, useState } from 'react';
import { lazyWithRetry } from '../app/Failure';
import { linkTo } from '../app/route';
import { Copy } from '../ui/Copy';
import { Icon } from '../ui/Icon';
import { KindChip, type Kind } from '../ui/Kind';
import { plural } from '../ui/format';
import { useActions } from './ChatContext';
import { markdownOf } from './export';
import { isEmptyAnswer, standing, textOf, type Message, sourcesOf, type NumberedSource } from './message';
import { useFeatures } from '../features/registry';
import { Parts } from './Parts';
import { Ending, Sound } from './parts/Notes';

/** Why a model stopped, in words; nothing where it simply was done. */
const WORDS: Readonly<Record<string, string>> = {
  MAX_TOKENS: 'cut off at the token limit',
  CONTINUATION: 'to be continued',
  SAFETY: 'stopped by a safety filter',
  RECITATION: 'stopped: recitation',
  LANGUAGE: 'stopped: language',
  BLOCKLIST: 'stopped by a blocklist',
  PROHIBITED_CONTENT: 'stopped: prohibited content',
  SPII: 'stopped: personal data',
  MALFORMED_FUNCTION_CALL: 'malformed tool call',
  UNEXPECTED_TOOL_CALL: 'unexpected tool call',
  TOO_MANY_TOOL_CALLS: 'too many tool calls',
};

const FINE: ReadonlySet<string> = new Set(['STOP', 'FINISH_REASON_UNSPECIFIED']);

function finishWords(reason: string | undefined): { word: string; kind: Kind } | null {
  if (!reason || FINE.has(reason)) return null;
  return { word: WORDS[reason] ?? reason.toLowerCase().replaceAll('_', ' '), kind: 'error' };
}

// Below answers that are complete: until then nobody needs them.
const VersionPicker = lazyWithRetry(async () => ({ default: (await import('./VersionPicker')).VersionPicker }));

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
    <article className="message" data-role="user" data-message={message.id} aria-label="You">
      {draft === null ? (
        <div className="bubble">
          <Parts parts={message.parts} live={false} last={false} fromUser message={message} isAnswered={isAnswered} />
        </div>
      ) : (
        <div className="edit">
          <textarea
            className="field"
            autoFocus
            rows={3}
            aria-label="Edit your message"
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => event.key === 'Escape' && setDraft(null)}
          />
          <div className="row">
            <button type="button" className="button" data-look="primary" onClick={save}>
              Resend
            </button>
            <button type="button" className="button" data-look="quiet" onClick={() => setDraft(null)}>
              Cancel
            </button>
            <span className="quiet">Later messages are kept as an earlier version.</span>
          </div>
        </div>
      )}
      {draft === null && text && (
        <div className="message-actions">
          <Copy text={text} label="Copy message" />
          {conversation && !isTalking && (
            <button
              type="button"
              className="button"
              data-look="quiet"
              data-square=""
              title="Edit"
              aria-label="Edit message"
              onClick={() => setDraft(text)}
            >
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
    <article className="message" data-role="assistant" data-message={message.id} aria-label="Agent">
      <Parts
        parts={standing(message)}
        live={live}
        last={last || isTalking}
        fromUser={false}
        message={message}
        isAnswered={isAnswered}
      />
      {(sound.length > 0 || metadata?.audio) && (
        <Sound
          pieces={live ? [] : sound}
          audio={metadata?.audio}
          load={async () => (await import('./audioCache')).fetchAudio(metadata?.runId ?? '', message.id)}
        />
      )}
      <Sources sources={sources} />
      {!live && <Ending stopped={stopped} empty={isEmptyAnswer(message)} />}
      {!live && <Footer message={message} last={last} />}
    </article>
  );
}

function Footer({ message, last }: { message: Message; last: boolean }) {
  const { conversation, isTalking, isBusy } = useActions();
  const features = useFeatures();
  const { usage, modelVersion, adkFinishReason, finishMessage, runId } = message.metadata ?? {};
  const finish = finishWords(adkFinishReason);
  return (
    <footer className="message-foot">
      <div className="message-actions">
        <Suspense>
          <VersionPicker message={message.id} />
        </Suspense>
        <Copy text={() => markdownOf([message])} label="Copy as Markdown" />
        {conversation && !isTalking && (
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            title={last ? 'Regenerate (r)' : 'Regenerate from here'}
            aria-label="Regenerate"
            disabled={isBusy}
            onClick={() => conversation.regenerate(message.id)}
          >
            <Icon name="retry" />
          </button>
        )}
        <Suspense>
          {features.map(({ name, UnderAnswer }) => UnderAnswer && <UnderAnswer key={name} message={message} />)}
        </Suspense>
        {runId && (
          <a className="button" data-look="quiet" href={linkTo({ kind: 'run', run: runId })} title="Open this run">
            <Icon name="clock" /> Run
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
        <Suspense>
          {features.map(
            ({ name, AnswerFacts }) => AnswerFacts && <AnswerFacts key={name} message={message} last={last} />,
          )}
        </Suspense>
      </span>
    </footer>
  );
}

function usageTitle(usage: NonNullable<Message['metadata']>['usage']): string {
  const counts = [
    ['in', usage?.inputTokens],
    ['out', usage?.outputTokens],
    ['reasoning', usage?.reasoningTokens],
    ['cached', usage?.cachedInputTokens],
    ['model calls', usage?.modelCalls?.length],
  ] as const;
  return counts.flatMap(([name, count]) => (count === undefined ? [] : [`${name} ${count}`])).join(' · ');
}

/** The sources of a message, numbered as its markers are. */
function Sources({ sources }: { sources: readonly NumberedSource[] }) {
  if (sources.length === 0) return null;
  return (
    <div role="group" className="sources" data-kind="proof" aria-label="Sources">
      <KindChip kind="proof">Sources</KindChip>
      <ol>
        {sources.map((source) => (
          <li key={source.number} data-source={source.number} tabIndex={-1}>
            <span className="source-number">{source.number}</span>
            {source.url ? (
              <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
                {source.title} <Icon name="link" />
              </a>
            ) : (
              <span>{source.title}</span>
            )}
            <span className="quiet">{source.detail}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
