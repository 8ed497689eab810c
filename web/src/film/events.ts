/** What each entry of a run was, in a word: the colour of its mark, and what is said of it. */
import type { Kind } from '../ui/Kind';
import { isText, type SaidItem } from './conversation';
import type { Json, Outcome } from '@adk-prism/client/film';
import { countUpTo, once, type Film } from './film';
import { endOf } from './timeline';

export type EventInfo = { kind: Kind; what: string; failed: boolean };

/** Where an entry is several things, the one with the higher rank is shown. */
const RANK: Record<Kind, number> = {
  neutral: 0,
  text: 1,
  reasoning: 2,
  state: 3,
  media: 4,
  proof: 5,
  tool: 6,
  approval: 7,
  error: 8,
};

const PLAIN: EventInfo = { kind: 'neutral', what: 'event', failed: false };

/** What is said of the entry that began with the user's words. */
const USER_SPOKE = 'user message';

/**
 * Return the number by which a person knows an entry. A model call is an entry of the log, and none of the recording
 * that is downloaded: events are counted as there.
 */
export function eventNumber(film: Film, cursor: number): number {
  return Math.max(1, cursor - countUpTo(modelCalls(film), cursor));
}

const modelCalls = once((film: Film) => (film.items.calls ?? []).map(({ since }) => [since, null] as const));

const BROKEN = new Set<Outcome>(['failed', 'incomplete']);

type Note = (cursor: number, kind: Kind, what: string) => void;

/** Return the entries' infos, by cursor (there is none at 0). */
export const eventsOf = once((film: Film): readonly EventInfo[] => {
  const infos: EventInfo[] = new Array(film.last + 1).fill(PLAIN);
  const note: Note = (cursor, kind, what) => {
    const known = infos[cursor]!;
    const failed = known.failed || kind === 'error';
    if (known === PLAIN || RANK[kind] > RANK[known.kind]) infos[cursor] = { kind, what, failed };
    else if (failed !== known.failed) infos[cursor] = { ...known, failed };
  };
  note(1, 'neutral', 'run started');
  noteNodes(film, note);
  film.items.said.forEach((item) =>
    (isText(item) ? noteText : item.is.kind === 'call' ? noteCall : noteOther)(item, note),
  );
  for (const { is, marks } of film.items.keys) {
    for (const [cursor, { writer, value }] of marks) {
      if (cursor > 1) note(cursor, 'state', `${writer} ${value === undefined ? 'removed' : 'wrote'} ${is.key}`);
    }
  }
  for (const { marks } of film.items.proofs) {
    for (const [cursor, proof] of marks)
      note(cursor, 'proof', `proof of ${String(proof.subject?.name ?? 'the answer')}`);
  }
  for (const { since, is } of film.items.sources) note(since, 'proof', `source ${String(is.title || is.uri)}`);
  for (const { since, is } of film.items.calls ?? [])
    note(since, 'neutral', `${String(is.agent || 'agent')} called ${String(is.model)}`);
  if (film.ended)
    note(film.ended.cursor, BROKEN.has(film.ended.outcome) ? 'error' : 'neutral', `run ${String(film.ended.outcome)}`);
  return infos;
});

function noteNodes(film: Film, note: Note): void {
  for (const node of film.items.nodes) {
    note(node.since, 'neutral', `${String(node.is.name)} started`);
    const end = endOf(node);
    if (end)
      note(
        end.cursor,
        end.status === 'failed' ? 'error' : 'neutral',
        `${node.is.name} ${ENDS[end.status] ?? end.status}`,
      );
  }
}

const ENDS: Record<string, string> = { finished: 'finished', waiting: 'is waiting' };

function noteText({ is, marks }: SaidItem, note: Note): void {
  const reasoning = is.kind === 'reasoning';
  const what = `${is.speaker ?? 'agent'} ${reasoning ? 'is thinking' : 'wrote text'}`;
  for (const [cursor, piece] of marks)
    if (typeof piece === 'string') note(cursor, reasoning ? 'reasoning' : 'text', what);
}

const CALLS: Record<string, { kind: Kind; verb: string }> = {
  answered: { kind: 'tool', verb: 'returned' },
  failed: { kind: 'error', verb: 'failed' },
  denied: { kind: 'approval', verb: 'was denied' },
  abandoned: { kind: 'tool', verb: 'did not return' },
  'awaiting approval': { kind: 'approval', verb: 'needs approval' },
};

function noteCall({ is, since, marks }: SaidItem, note: Note): void {
  const name = String(is.name);
  if (!is.earlier) note(since, 'tool', `${String(is.speaker ?? 'agent')} called ${String(name)}`);
  for (const [cursor, news] of marks) {
    const became = CALLS[String((news as { [key: string]: Json }).status)];
    if (became) note(cursor, became.kind, `${name} ${became.verb}`);
  }
}

const OTHERS: Record<string, (item: SaidItem) => { kind: Kind; what: string }> = {
  user: () => ({ kind: 'text', what: USER_SPOKE }),
  file: ({ is }) => ({ kind: 'media', what: `file ${String(is.mediaType ?? '')}` }),
  error: ({ is }) => ({
    kind: 'error',
    what: `${String(is.speaker ?? 'agent')} failed: ${String(is.code ?? 'error')}`,
  }),
  transfer: ({ is }) => ({ kind: 'neutral', what: `transfer to ${String(is.to)}` }),
  'credential request': () => ({ kind: 'approval', what: 'needs a credential' }),
  'input request': () => ({ kind: 'approval', what: 'needs input' }),
};

function noteOther(item: SaidItem, note: Note): void {
  const of = OTHERS[item.is.kind];
  if (!of) return;
  const { kind, what } = of(item);
  note(item.since, kind, what);
}
