/** What a sub-agent did, in one line: open while it works, asks or has failed, and where its words are the answer. */
import { useContext, useRef, useState, useEffect, type RefObject } from 'react';
import { Icon, type IconName } from '../ui/Icon';
import type { Kind } from '../ui/Kind';
import { duration, plural, readable } from '../ui/format';
import { confidenceWords } from './parts/Notes';
import { grouped, type Calls, type Group } from './groups';
import { answersOf, isOpenCall, isTool, type Part } from './message';
import { Items } from './Parts';
import type { PartProps } from './PartView';
import { agentNode, callNode, MomentContext, secondsOf, useRun, workerOf } from './ChatContext';
import { getJson, path } from '../app/server';
import { shared } from '../film/sharedFile';
import { endOf, type TimelineView } from '../film/timeline';

/**
 * How long the agents of an answer took, where the panels show another run: asked for when it comes into sight, once.
 */
type NodeTime = TimelineView['nodes'][number];

const MOST_RUNS = 200; // Then what was asked for first is forgotten.
const known = new Map<string, Promise<readonly NodeTime[]>>();

function nodesOf(run: string): Promise<readonly NodeTime[]> {
  let found = known.get(run);
  if (!found) {
    const asked = getJson<{ timeline: TimelineView }>(`${path('api', 'runs', run)}/view?panel=timeline`);
    // Without the times the answer is shown as it is.
    found = asked.then(
      ({ timeline }) => timeline.nodes,
      () => [],
    );
    known.set(run, found);
    if (known.size > MOST_RUNS) known.delete(known.keys().next().value!);
  }
  return found;
}

type Wanted = { call: string | null; path: string; branch: string };

/**
 * Return the seconds that a call, or an agent that no call asked, took in one of some runs; null while that is not
 * known.
 */
function useNodeTime(
  runs: readonly string[],
  { call, path: where, branch }: Wanted,
  element: RefObject<Element | null>,
  isWanted: boolean,
): number | null {
  const [seconds, setSeconds] = useState<number | null>(null);
  const ids = runs.join(' ');
  useEffect(() => {
    const target = element.current;
    if (!isWanted || !ids || !target || shared() || typeof IntersectionObserver === 'undefined') return;
    let isLeft = false;
    const sight = new IntersectionObserver(async (changes) => {
      if (!changes.some((change) => change.isIntersecting)) return;
      sight.disconnect();
      const nodes = (await Promise.all(ids.split(' ').map(nodesOf))).flat();
      const found = nodes.find((node) => (call ? node.call === call : node.path === where && node.lane === branch));
      if (!isLeft && found && found.until !== null) setSeconds(found.duration);
    });
    sight.observe(target);
    return () => {
      isLeft = true;
      sight.disconnect();
    };
  }, [ids, call, where, branch, element, isWanted]);
  return seconds;
}

/** What every part of a message is shown with. */
export type GroupContext = {
  parts: readonly Part[];
  calls: Calls;
  /** Index of the part that is the answer. */
  answer: number;
  shared: Omit<PartProps, 'part' | 'isThinking'>;
  isThinking: boolean;
  /** The runs that the message is of, as far as it says. */
  runs: readonly string[];
};

type Standing = { word: string; kind: Kind; icon: IconName };

const WORKS: Standing = { word: 'Working', kind: 'tool', icon: 'agent' };
const ASKS: Standing = { word: 'Waiting for you', kind: 'approval', icon: 'approval' };
/** Its call is open: another call, or another run, has to come first. */
const WAITS: Standing = { word: 'Waiting', kind: 'neutral', icon: 'clock' };
const FAILED: Standing = { word: 'Failed', kind: 'error', icon: 'error' };
const DONE: Standing = { word: '', kind: 'neutral', icon: 'check' };

export function GroupView({ group, level, context }: { group: Group; level: number; context: GroupContext }) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const film = useRun();
  const moment = useContext(MomentContext);
  const worker = group.call && workerOf(film, group.call.toolCallId);
  const end = worker && endOf(worker);
  const standing = standingOf(group, context, end && end.cursor <= moment ? end.status : null);
  const isAnswer = !context.shared.live && group.parts.some(({ index }) => index === context.answer);
  const isOpen = choice ?? (standing !== DONE || isAnswer);
  const name = readable(group.name);
  return (
    <div className="group" role="group" data-kind={standing.kind} data-open={isOpen || undefined} aria-label={name}>
      <button type="button" className="group-head" aria-expanded={isOpen} onClick={() => setChoice(!isOpen)}>
        <Icon name={standing.icon} />
        <strong>{name}</strong>
        <Facts group={group} context={context} isOver={standing === DONE || standing === FAILED} />
        {standing.word && (
          <span className="tool-state" data-busy={standing === WORKS ? '' : undefined}>
            {standing.word}
          </span>
        )}
        <Icon name="chevron" />
      </button>
      {isOpen && (
        // While it works, a window of a fixed height shows its end: what it writes, and that it folds when it is done,
        // moves nothing under the reader.
        <div className="group-body" data-window={(standing === WORKS && choice === null && level === 0) || undefined}>
          <div className="group-inner">
            <Items items={insideOf(group, context, level)} level={level + 1} context={context} />
          </div>
        </div>
      )}
    </div>
  );
}

/** The line of a group stands for its call; the call's card, with the request and the result, comes last. */
function insideOf(group: Group, { calls }: GroupContext, level: number) {
  const own = group.parts.filter(({ part }) => part !== group.call);
  const call = group.parts.find(({ part }) => part === group.call);
  return [...grouped(own, calls, level + 1), ...(call ? [{ kind: 'part' as const, ...call }] : [])];
}

/** How many tools it called, how sure it is, and how long it took. */
function Facts({ group, context, isOver }: { group: Group; context: GroupContext; isOver: boolean }) {
  const film = useRun();
  const line = useRef<HTMLSpanElement>(null);
  const tools = group.parts.filter(({ part }) => isTool(part) && part !== group.call);
  const failed = group.parts.filter(
    ({ part }) =>
      part !== group.call && (part.type === 'data-error' || (isTool(part) && part.state === 'output-error')),
  ).length;
  const sure = confidenceOf(group, context.parts);
  const shown = secondsOf(
    group.call ? callNode(film, group.call.toolCallId) : agentNode(film, group.path, group.branch),
  );
  const wanted = { call: group.call?.toolCallId ?? null, path: group.path, branch: group.branch };
  const asked = useNodeTime(context.runs, wanted, line, isOver && shown === null && !context.shared.live);
  const seconds = shown ?? asked;
  const facts = [
    tools.length > 0 && plural(tools.length, 'tool'),
    failed > 0 && `${failed} failed`,
    sure,
    isOver && seconds !== null && duration(seconds),
  ];
  return (
    <span className="group-facts" ref={line}>
      {facts.filter(Boolean).join(' · ')}
    </span>
  );
}

function confidenceOf({ call, name }: Group, parts: readonly Part[]): string {
  const proofs = parts.flatMap((part) => (part.type === 'data-proof' ? [part.data] : []));
  const proof =
    proofs.find(({ subject }) => call && subject.calls?.includes(call.toolCallId)) ??
    (call ? undefined : proofs.find(({ subject }) => subject.kind === 'specialist' && subject.name === name));
  if (!proof) return '';
  const words = confidenceWords(proof);
  return proof.confidence === null && words ? `confidence ${words}` : words;
}

/** `ended`: how the run says that the agent ended. ADK passes on what agents side by side answer all at once, later. */
function standingOf({ call, parts }: Group, context: GroupContext, ended: string | null): Standing {
  const { live, notes, isAnswered, last } = context.shared;
  if (
    last &&
    parts.some(
      ({ part }) => asksNow(part, live, notes) || (isRequest(part) && !part.data.status && !isAnswered(part.data.id)),
    )
  )
    return ASKS;
  if (call?.state === 'output-error' || parts.at(-1)?.part.type === 'data-error') return FAILED;
  if (live && ended === 'finished') return DONE;
  if (live && (call ? !call.state.startsWith('output') : isSpeaking(parts.at(-1)!.index, context.parts))) return WORKS;
  return last && call && !call.state.startsWith('output') ? WAITS : DONE;
}

/** While the message grows, a call of the client may still be answered by the server. */
function asksNow(part: Part, live: boolean, notes: PartProps['notes']): boolean {
  return isOpenCall(part, notes) && (!live || part.state === 'approval-requested');
}

function isRequest(part: Part) {
  return part.type === 'data-input-request' || part.type === 'data-credential-request';
}

/** Nobody has said anything after it. */
function isSpeaking(index: number, parts: readonly Part[]): boolean {
  return !parts.slice(index + 1).some((part) => answersOf(part));
}
