/** One message: who speaks, its parts in order, its sources, and below it what it cost and what can be done with it. */
import { memo, Suspense, useMemo, useState, type ReactNode } from 'react';
import { lazyWithRetry } from '../app/Failure';
import { linkTo } from '../app/route';
import { Copy } from '../ui/Copy';
import { Icon } from '../ui/Icon';
import { KindChip, type Kind } from '../ui/Kind';
import { compact, plural, share, tookWords, number } from '../ui/format';
import { useActions, useRun } from './ChatContext';
import { markdownOf } from './export';
import { countTools } from './groups';
import { isAsking, isEmptyAnswer, standing, textOf, type Message, sourcesOf, type NumberedSource } from './message';
import { useFeatures } from '../features/registry';
import { receiptOf } from '../features/tree/steps';
import type { Film } from '../film/film';
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
  /** What the user wrote next; empty where nothing. */
  reply?: string;
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

function AssistantMessage({ message, live, last, stopped = false, isAnswered, reply }: Props) {
  const { conversation, isTalking = false, spoken } = useActions();
  const sources = useMemo(() => sourcesOf(message), [message]);
  const parts = useMemo(() => standing(message), [message]);
  // Of an answer of thousands of parts these are long ways.
  const isEmpty = useMemo(() => !live && isEmptyAnswer(message), [message, live]);
  const { metadata } = message;
  const sound = conversation?.sounds.of(message.id) ?? [];
  const answer = spoken?.answers.indexOf(message.id) ?? -1;
  return (
    <article className="message" data-role="assistant" data-message={message.id} aria-label="Agent">
      <Parts
        parts={parts}
        live={live}
        last={last || isTalking}
        fromUser={false}
        message={message}
        isAnswered={isAnswered}
        reply={reply}
      />
      {(sound.length > 0 || metadata?.audio || answer >= 0) && (
        <Sound
          pieces={live ? [] : sound}
          audio={metadata?.audio}
          load={async () => {
            const { fetchAudio } = await import('./audioCache');
            return spoken && answer >= 0
              ? fetchAudio(spoken.run, answer)
              : fetchAudio(metadata?.runId ?? '', message.id);
          }}
        />
      )}
      <Sources sources={sources} />
      {!live && <Ending stopped={stopped} empty={isEmpty} />}
      {!live && <Footer message={message} last={last} />}
    </article>
  );
}

function Footer({ message, last }: { message: Message; last: boolean }) {
  const { conversation, isTalking, isBusy, openTrace, onlyAnswer, seconds, originals } = useActions();
  const features = useFeatures();
  const film = useRun();
  const { usage, modelVersion, adkFinishReason, finishMessage, cache, failure } = message.metadata ?? {};
  const isOnly = film !== null && onlyAnswer === message.id;
  const runId = message.metadata?.runId ?? (isOnly ? film.run : undefined);
  const original = originals?.get(message.id);
  const finish = finishWords(adkFinishReason);
  const asks = useMemo(() => isAsking(message), [message]);
  const tools = useMemo(() => countTools(standing(message)), [message]);
  const proof = message.parts.findLast((part) => part.type === 'data-proof' && part.data.subject.kind === 'answer');
  const confidence = proof?.type === 'data-proof' ? proof.data.confidence : null;
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
      </div>
      <span className="message-facts">
        <Icon name={failure ? 'error' : asks ? 'clock' : 'check'} />
        {receiptFacts(message, tools, seconds, film, isOnly).map((fact) =>
          runId && /model calls?$/.test(fact) ? (
            <ModelCalls key={fact} run={original ?? runId}>
              {fact}
            </ModelCalls>
          ) : (
            <span key={fact} title={fact.endsWith('tokens') ? usageTitle(usage, modelVersion) : undefined}>
              {fact}
            </span>
          ),
        )}
        <Suspense>
          {features.map(
            ({ name, AnswerFacts }) => AnswerFacts && <AnswerFacts key={name} message={message} last={last} />,
          )}
        </Suspense>
        {confidence !== null && <span>{share(confidence)}</span>}
        {finish && (
          <KindChip kind={finish.kind} title={finishMessage}>
            {finish.word}
          </KindChip>
        )}
        {finishMessage && <span>{finishMessage}</span>}
        {cache && <span title="Model calls that found their beginning in the context cache">{cacheWords(cache)}</span>}
        {runId && (
          <a
            href={linkTo({ kind: 'run', run: runId })}
            title="See every step of this answer"
            onClick={(event) => {
              if (!openTrace || event.ctrlKey || event.metaKey) return;
              event.preventDefault();
              openTrace(runId);
            }}
          >
            Open trace
          </a>
        )}
        {original && (
          <a
            href={linkTo({ kind: 'run', run: original })}
            title="This answer was copied from another conversation: open the run that took place"
          >
            Original run
          </a>
        )}
      </span>
    </footer>
  );
}

/** How many calls of models there were leads to them: beside the chat, or where the panels show another run, with that run. */
function ModelCalls({ run, children }: { run: string; children: ReactNode }) {
  const { openPanel } = useActions();
  const isShown = useRun()?.run === run;
  if (!useFeatures().some(({ panel }) => panel?.name === 'model')) return <span>{children}</span>;
  const show = (event: { preventDefault(): void }) => {
    if (!isShown) return;
    event.preventDefault();
    openPanel('model');
  };
  return (
    <a href={linkTo({ kind: 'run', run }, 'model')} title="See what was sent to the model" onClick={show}>
      {children}
    </a>
  );
}

/** Messages are named after their first run. */
const RUN = /^run-[0-9a-f]{24}/;

/** Say what an answer took: how long, model calls, tools and tokens. */
export function receiptFacts(
  message: Message,
  tools: number,
  seconds: ReadonlyMap<string, number> | undefined,
  film: Film | null = null,
  isOnly = false,
): string[] {
  const { usage, runId } = message.metadata ?? {};
  // An answer that took several runs says only what its last one used; the joined film knows all of them.
  const isContinued = runId !== undefined && RUN.test(message.id) && message.id !== runId;
  const whole = film && (isOnly || (isContinued && film.run === runId)) ? receiptOf(film) : null;
  const took = seconds?.get(message.id) ?? (isOnly ? whole?.seconds : undefined);
  const calls = whole?.modelCalls ?? (isContinued ? 0 : (usage?.modelCalls?.length ?? 0));
  const tokens = whole ? whole.tokens || undefined : isContinued ? undefined : usage?.totalTokens;
  return [
    took === undefined ? '' : tookWords(took, whole?.waited ?? 0),
    calls ? plural(calls, 'model call') : '',
    tools ? plural(tools, 'tool') : '',
    tokens === undefined ? '' : `${compact(tokens)} tokens`,
  ].filter(Boolean);
}

export function cacheWords({ hits, misses }: { hits: number; misses: number }): string {
  return `cache hit in ${number(hits)} of ${plural(hits + misses, 'call')}`;
}

function usageTitle(usage: NonNullable<Message['metadata']>['usage'], model: string | undefined): string {
  const counts = [
    ['in', usage?.inputTokens],
    ['out', usage?.outputTokens],
    ['reasoning', usage?.reasoningTokens],
    ['cached', usage?.cachedInputTokens],
    ['model calls', usage?.modelCalls?.length],
  ] as const;
  const words = counts.flatMap(([name, count]) => (count === undefined ? [] : [`${name} ${number(count)}`]));
  return [...words, ...(model ? [`model ${model}`] : [])].join(' · ');
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
