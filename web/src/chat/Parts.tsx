/**
 * The parts of a message: what the agent says, with what its sub-agents did in groups. Long ones are drawn from their
 * end.
 */
import { useMemo, useState } from 'react';
import { Icon } from '../ui/Icon';
import { plural, readable, number } from '../ui/format';
import { useTail } from '../ui/hooks';
import { citationMarks, marked as mark } from './citations';
import { isDetail, useDetails } from './details';
import { GroupView, type GroupContext } from './GroupView';
import { failingTool, withExceptions } from './blame';
import { useRun } from './ChatContext';
import { answerIndex, Calls, folded, grouped, placeOf, type Item, type Placed, type Repeats } from './groups';
import { PROSE_AT_ONCE } from './markdown/Prose';
import { authorOf, isTool, notesKey, notesOnCalls, type Message, type Part, chunkNumbers, sourcesOf } from './message';
import { MemoPart, type PartProps } from './PartView';

type PartsProps = {
  parts: readonly Part[];
  message: Message;
  live: boolean;
  last: boolean;
  fromUser: boolean;
  isAnswered: (request: string) => boolean;
  /** What the user wrote next. */
  reply?: string;
};

export function Parts({ parts: given, message, live, last, fromUser, isAnswered, reply = '' }: PartsProps) {
  const film = useRun();
  const parts = useMemo(() => withExceptions(given, film), [given, film]);
  // The SDK hands over a new message with every token; what is derived here changes far more seldom.
  const said = notesKey(parts);
  // biome-ignore lint/correctness/useExhaustiveDependencies: notes change when their key does; the message, with every delta
  const notes = useMemo(() => notesOnCalls(message), [message.id, said]);
  const marked = useMarks(message, parts, live);
  const withDetails = useDetails();
  const shared = { live, last, fromUser, notes, isAnswered, reply, marked };
  const calls = useMemo(() => new Calls(parts), [parts]);
  const items = useMemo((): readonly Item[] => {
    const placed = placedOf(parts, live, withDetails);
    return fromUser ? placed.map((one) => ({ kind: 'part', ...one })) : grouped(placed, calls);
  }, [parts, live, withDetails, fromUser, calls]);
  const answer = answerIndex(parts);
  const { derived, runId } = message.metadata ?? {};
  // A message of several runs is named after its first one.
  const runs = derived || !runId ? [] : [...new Set(RUN.test(message.id) ? [message.id, runId] : [runId])];
  const context: GroupContext = { parts, calls, answer, shared, isThinking: withDetails, runs };
  return <Items items={items} level={0} context={context} />;
}

/** Return the parts that are shown, with their places. */
function placedOf(parts: readonly Part[], live: boolean, withDetails: boolean): Placed[] {
  const mayBeInside = live && parts.some((part) => isInside(part));
  const placed: Placed[] = [];
  for (const [index, part] of parts.entries())
    if (
      part.type !== 'step-start' &&
      (withDetails || !isDetail(part)) &&
      !(mayBeInside && isUnplaced(part)) &&
      !isToldByTool(part, parts)
    )
      placed.push({ part, index });
  return placed;
}

/** A call whose arguments stream does not say yet inside of which agent it stands: it is shown when it does. */
function isUnplaced(part: Part): boolean {
  return isTool(part) && part.state === 'input-streaming' && placeOf(part).author === undefined;
}

/** An exception is told once: on the card of the tool that raised it. */
function isToldByTool(part: Part, parts: readonly Part[]): boolean {
  return part.type === 'data-error' && failingTool(parts, part.data.message ?? '') !== null;
}

function isInside(part: Part): boolean {
  const { within, branch, path } = placeOf(part);
  return within !== undefined || !!branch || String(path ?? '').includes('/');
}

const RUN = /^run-[0-9a-f]{24}/;

/** Return how to put numbers of sources behind the words that rest on them. */
function useMarks(message: Message, parts: readonly Part[], live: boolean): PartProps['marked'] {
  const { grounding } = message.metadata ?? {};
  const proof = live
    ? undefined
    : parts.findLast((part) => part.type === 'data-proof' && part.data.subject.kind === 'answer');
  // biome-ignore lint/correctness/useExhaustiveDependencies: both are written when the text is complete
  return useMemo(() => {
    if (grounding) {
      const numbers = chunkNumbers(message, sourcesOf(message));
      return (text: string) => mark(text, grounding, numbers);
    }
    if (proof?.type !== 'data-proof') return unmarked;
    const answer = parts.findLast((part) => part.type === 'text');
    return (text: string) => (answer?.type === 'text' && text === answer.text ? citationMarks(text, proof.data) : text);
  }, [message.id, grounding, proof]);
}

function unmarked(text: string): string {
  return text;
}

/** Parts of one message that are drawn at first, the last ones: a run of thousands would make the page slow. */
const PARTS_SHOWN = 60;
/** Letters, or what takes as much room, that are drawn in one go: about two screens. */
const WEIGHT_AT_ONCE = 6000;
const CARD = 300;

/** Return what came before each item, in letters; the last number is all. */
function weigh(items: readonly Item[]): number[] {
  const sums = [0];
  for (const item of items)
    sums.push(
      sums.at(-1)! +
        CARD +
        (item.kind === 'part' && item.part.type === 'text' ? Math.min(item.part.text.length, PROSE_AT_ONCE) : 0),
    );
  return sums;
}

type ItemsProps = { items: readonly Item[]; level: number; context: GroupContext };

export function Items({ items: all, level, context }: ItemsProps) {
  const [shown, setShown] = useState(PARTS_SHOWN);
  const { notes, fromUser } = context.shared;
  const items = useMemo(
    () => (fromUser ? all : folded(all, ({ toolCallId }) => !notes(toolCallId).longRunning)),
    [all, fromUser, notes],
  );
  const weights = useMemo(() => weigh(items), [items]);
  const earlier = Math.max(0, items.length - shown);
  const from = useTail(weights.at(-1)!, WEIGHT_AT_ONCE, weights[earlier]!);
  const first = Math.max(
    earlier,
    weights.findLastIndex((weight) => weight <= from),
  );
  let speaker = '';
  const views = items.slice(first).map((item) => {
    if (item.kind === 'group') {
      speaker = ''; // Whoever goes on after a group is named again.
      return <GroupView key={item.index} group={item} level={level} context={context} />;
    }
    if (item.kind === 'repeats') return <RepeatsView key={item.index} repeats={item} context={context} />;
    const author = context.shared.fromUser ? '' : authorOf(item.part);
    const isNew = author !== '' && author !== speaker && level === 0;
    if (isNew) speaker = author;
    return (
      <div
        className="part"
        key={item.index}
        data-part={item.part.type}
        data-answer={(!context.shared.fromUser && item.index === context.answer) || undefined}
      >
        {isNew && (
          <p className="speaker">
            <Icon name="agent" /> {readable(author)}
          </p>
        )}
        <MemoPart part={item.part} {...context.shared} isThinking={context.isThinking} />
      </div>
    );
  });
  if (!earlier) return views;

  return [
    <button
      key="earlier"
      type="button"
      className="button"
      data-look="quiet"
      onClick={() => setShown(shown + PARTS_SHOWN * 5)}
    >
      <Icon name="more" /> {plural(earlier, 'earlier part')}
    </button>,
    ...views,
  ];
}

/** Equal calls in one line: "look_up ×200". */
function RepeatsView({ repeats, context }: { repeats: Repeats; context: GroupContext }) {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(PARTS_SHOWN);
  return (
    <div
      className="tool"
      role="group"
      data-kind="tool"
      aria-label={`${repeats.name}, ${plural(repeats.parts.length, 'call')}`}
    >
      <button type="button" className="tool-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="check" />
        <strong>{repeats.name}</strong>
        <span className="summary">×{number(repeats.parts.length)}</span>
        <span className="tool-state">Done</span>
      </button>
      {isOpen && (
        <div className="tool-body">
          {repeats.parts.slice(0, shown).map(({ part, index }) => (
            <MemoPart key={index} part={part} {...context.shared} isThinking={context.isThinking} />
          ))}
          {repeats.parts.length > shown && (
            <button
              type="button"
              className="button"
              data-look="quiet"
              onClick={() => setShown(shown + PARTS_SHOWN * 5)}
            >
              <Icon name="more" /> {plural(repeats.parts.length - shown, 'more call')}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
