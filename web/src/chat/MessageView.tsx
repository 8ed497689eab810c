/** One message: who speaks, its parts in order, its sources, and below it what it cost and what can be done with it. */
import { memo, useMemo, useState } from 'react';
import { linkTo } from '../app/route';
import { Copy } from '../ui/Copy';
import { Icon } from '../ui/Icon';
import { KindChip } from '../ui/Kind';
import { useTail } from '../ui/progressiveRender';
import { plural } from '../ui/format';
import { useActions } from './ChatContext';
import { markdownOf } from './export';
import { FeedbackButtons } from './FeedbackButtons';
import { finishWords } from './finishReason';
import { marked as mark } from './markdown/markers';
import { PROSE_AT_ONCE } from './markdown/Prose';
import { authorOf, notesKey, notesOnCalls, standing, textOf, type Message, type Part } from './message';
import { MessageCost } from './MessageCost';
import { MemoPart } from './PartView';
import { depthOf } from './filmMessages';
import { Sound } from './parts/Notes';
import { Sources } from './parts/Sources';
import { chunkNumbers, sourcesOf } from './sources';

type Props = {
  message: Message;
  /** Its stream is open. */
  live: boolean;
  last: boolean;
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
          <textarea className="field" autoFocus rows={3} aria-label="Edit your message" value={draft} onChange={(event) => setDraft(event.target.value)} onKeyDown={(event) => event.key === 'Escape' && setDraft(null)} />
          <div className="row">
            <button type="button" className="button" data-look="primary" onClick={save}>
              Resend
            </button>
            <button type="button" className="button" data-look="quiet" onClick={() => setDraft(null)}>
              Cancel
            </button>
            <span className="quiet">Later messages will be removed.</span>
          </div>
        </div>
      )}
      {draft === null && text && (
        <div className="message-actions">
          <Copy text={text} label="Copy message" />
          {conversation && !isTalking && (
            <button type="button" className="button" data-look="quiet" data-square="" title="Edit" aria-label="Edit message" onClick={() => setDraft(text)}>
              <Icon name="edit" />
            </button>
          )}
        </div>
      )}
    </article>
  );
}

function AssistantMessage({ message, live, last, isAnswered }: Props) {
  const { conversation, isTalking = false } = useActions();
  const sources = useMemo(() => sourcesOf(message), [message]);
  const { metadata } = message;
  const sound = conversation?.sounds.of(message.id) ?? [];
  return (
    <article className="message" data-role="assistant" data-message={message.id} aria-label="Agent">
      <Parts parts={standing(message)} live={live} last={last || isTalking} fromUser={false} message={message} isAnswered={isAnswered} />
      {(sound.length > 0 || metadata?.audio) && <Sound pieces={live ? [] : sound} audio={metadata?.audio} load={async () => (await import('./fetchAudio')).fetchAudio(metadata?.runId ?? '', message.id)} />}
      <Sources sources={sources} />
      {!live && <Footer message={message} last={last} />}
    </article>
  );
}

function Footer({ message, last }: { message: Message; last: boolean }) {
  const { conversation, isTalking } = useActions();
  const { usage, modelVersion, adkFinishReason, finishMessage, runId } = message.metadata ?? {};
  const finish = finishWords(adkFinishReason);
  return (
    <footer className="message-foot">
      <div className="message-actions">
        <Copy text={() => markdownOf([message])} label="Copy as Markdown" />
        {conversation && !isTalking && (
          <button type="button" className="button" data-look="quiet" data-square="" title={last ? 'Regenerate (r)' : 'Regenerate from here'} aria-label="Regenerate" onClick={() => conversation.regenerate(message.id)}>
            <Icon name="retry" />
          </button>
        )}
        {conversation && message.metadata?.derived !== true && <FeedbackButtons message={message} />}
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
        <MessageCost message={message.id} last={last} />
        {runId && (
          <a href={linkTo({ kind: 'run', run: runId }, 'model')} title="See what was sent to the model">
            Model calls
          </a>
        )}
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

/** Parts of one message that are drawn at first, the last ones: a run of thousands would make the page slow. */
const PARTS_SHOWN = 60;
/** Letters, or what takes as much room, that are drawn in one go: about two screens. */
const WEIGHT_AT_ONCE = 6000;
const CARD = 300;

/** Return what came before each part, in letters; the last number is all. */
function weigh(parts: readonly Part[]): number[] {
  const sums = [0];
  for (const part of parts) sums.push(sums.at(-1)! + CARD + (part.type === 'text' ? Math.min(part.text.length, PROSE_AT_ONCE) : 0));
  return sums;
}

/** What was said inside of a tool stands further in, as far as there is room. */
function inside(depth: number) {
  return depth > 0 ? { 'data-within': depth, style: { marginLeft: Math.min(depth, 4) * INDENT } } : null;
}

const INDENT = 16;

type PartsProps = Props & { parts: readonly Part[]; fromUser: boolean };

function Parts({ parts, message, live, last, fromUser, isAnswered }: PartsProps) {
  // The SDK hands over a new message with every token; what is derived here changes far more seldom.
  const said = notesKey(parts);
  const notes = useMemo(() => notesOnCalls(message), [message.id, said]);
  const { grounding } = message.metadata ?? {};
  const marked = useMemo(() => {
    if (!grounding) return (text: string) => text;
    const numbers = chunkNumbers(message, sourcesOf(message));
    return (text: string) => mark(text, grounding, numbers);
  }, [message.id, grounding]);
  const [shown, setShown] = useState(PARTS_SHOWN);
  const weights = weigh(parts);
  const earlier = Math.max(0, parts.length - shown);
  const from = useTail(weights.at(-1)!, WEIGHT_AT_ONCE, weights[earlier]!);
  const first = Math.max(earlier, weights.findLastIndex((weight) => weight <= from));
  let speaker = '';
  const views = parts.slice(first).map((part, index) => {
    const author = fromUser ? '' : authorOf(part);
    const isNew = author !== '' && author !== speaker;
    if (isNew) speaker = author;
    return (
      <div className="part" key={first + index} data-part={part.type} {...inside(depthOf(part))}>
        {isNew && (
          <p className="speaker">
            <Icon name="agent" /> {author}
          </p>
        )}
        <MemoPart part={part} live={live} last={last} fromUser={fromUser} notes={notes} isAnswered={isAnswered} marked={marked} />
      </div>
    );
  });
  if (!earlier) return views;
  return [
    <button key="earlier" type="button" className="button" data-look="quiet" onClick={() => setShown(shown + PARTS_SHOWN * 5)}>
      <Icon name="more" /> {plural(earlier, 'earlier part')}
    </button>,
    ...views,
  ];
}
