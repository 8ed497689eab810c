/** Which app, which conversation, which model: the line above a run. */
import { useState, type ReactNode } from 'react';
import { isUsable, modelWords, useCatalogue, type ConversationEntry } from '../app/catalogue';
import { Id } from '../ui/Copy';
import { KindChip } from '../ui/Kind';
import { formatRoute, HOME } from '../app/route';
import { Icon } from '../ui/Icon';
import type { Lineage } from './sessionData';
import { plural } from '../ui/format';

/** Which run of an answer, or of a recorded session, the panels show, where there are several. */
type RunPickerProps = {
  what?: 'answer' | 'session';
  runs: readonly string[];
  run: string | null;
  pick(run: string): void;
};

const WHY = {
  answer: 'An approval or an answer starts another run within the same message',
  session: 'Each message of this session is a run of its own',
};

export function RunPicker({ what = 'answer', runs, run, pick }: RunPickerProps) {
  if (runs.length < 2 || run === null || !runs.includes(run)) return null;
  return (
    <select
      className="field run-picker"
      aria-label={`Run of this ${what}`}
      title={WHY[what]}
      value={run}
      onChange={(event) => pick(event.currentTarget.value)}
    >
      {runs.map((id, index) => (
        <option key={id} value={id}>
          run {index + 1} of {runs.length}
        </option>
      ))}
    </select>
  );
}

/** Links between a conversation and its forks. */
const LONGEST = 40;

function titleOf(conversations: readonly ConversationEntry[] | null, wanted: string): string {
  return (conversations?.find(({ session }) => session === wanted)?.title ?? '').slice(0, LONGEST);
}

/** The link to the moment from which a conversation was forked. */
export function ForkedFrom({ lineage }: { lineage: Lineage | null }) {
  const { conversations } = useCatalogue();
  const point = lineage?.forkedFrom;
  if (!lineage || !point) return null;
  const title = titleOf(conversations, point.session) || lineage.said.slice(0, LONGEST) || 'a run';
  return (
    <a
      className="chip"
      data-kind="neutral"
      title="Open the original at this event"
      href={formatRoute({ ...HOME, place: { kind: 'run', run: point.run }, at: point.at })}
    >
      <Icon name="branch" /> {point.rerun ? `Rerun of ${title}` : `Fork of ${title}`}
    </a>
  );
}

/** The forks of a conversation, newest first. */
export function Forks({ options, lineage }: { options: Record<string, string>; lineage: Lineage | null }) {
  const { conversations } = useCatalogue();
  if (!lineage?.forks.length) return null;
  return (
    <details className="forks">
      <summary className="button" data-look="quiet">
        <Icon name="branch" /> {plural(lineage.forks.length, 'fork')}
      </summary>
      <ul className="menu">
        {lineage.forks.toReversed().map(({ app, session }, index, { length }) => (
          <li key={session}>
            <a href={formatRoute({ ...HOME, place: { kind: 'chat', app, session }, options })}>
              {`Fork ${length - index}: ${titleOf(conversations, session)}`}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

type Props = {
  app: string;
  title: string;
  run: string | null;
  /** It was read from an ADK session: this server did not record it. */
  isDerived?: boolean;
  /** What it was forked from. */
  origin?: ReactNode;
};

export function Heading({ app, title, run, isDerived = false, origin }: Props) {
  const { apps } = useCatalogue();
  const entry = apps?.find((known) => known.name === app);
  return (
    <>
      <span className="heading-app">{app}</span>
      {title && <span className="heading-title">{title}</span>}
      {isUsable(entry) && entry.models && (
        <KindChip kind={entry.offline ? 'neutral' : 'text'} icon={entry.offline ? 'neutral' : 'text'}>
          {modelWords(entry)}
        </KindChip>
      )}
      {isUsable(entry) && <Reloaded key={app} reloads={entry.reloads} />}
      {entry?.error !== undefined && (
        <KindChip kind="error" icon="error" title={entry.error}>
          App does not load
        </KindChip>
      )}
      {isDerived && (
        <KindChip
          kind="neutral"
          icon="clock"
          title="Read from the ADK session: streaming and timing details are not available."
        >
          Not recorded
        </KindChip>
      )}
      {origin}
      {run && <Id id={run} />}
    </>
  );
}

/** Say that the app's code has changed since this page was opened. */
function Reloaded({ reloads }: { reloads: number }) {
  const [first] = useState(reloads);
  // A list that was asked for earlier may arrive later: what was seen once stays.
  const [highest, setHighest] = useState(reloads);
  if (reloads > highest) setHighest(reloads);
  if (highest === first) return null;
  return (
    <span role="status">
      <KindChip
        kind="state"
        icon="retry"
        title="The files of the app have changed. New messages are answered by the new code."
      >
        App reloaded
      </KindChip>
    </span>
  );
}
