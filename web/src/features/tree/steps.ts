/**
 * The steps of an answer as a tree: agents, and in them model calls, tools, approvals, changes of the state. Made of a
 * film, which has an entry for every word; a step is what a person would call one. Pure.
 */
import type { CallTokens, Json } from '@adk-prism/client/film';
import { isText, saidAt, type SaidItem } from '../../film/conversation';
import { callNode } from '../../chat/ChatContext';
import { grouped, once, type Film } from '../../film/film';
import { waitedBetween } from '../../film/joined';
import { costAt, endOf, SECOND, timeAt, tokensAt, type NodeItem } from '../../film/timeline';
import { preview } from './words';

export type StepKind =
  | 'agent'
  | 'tool'
  | 'workflow'
  | 'function'
  | 'join'
  | 'node'
  | 'model'
  | 'text'
  | 'approval'
  | 'state'
  | 'error';

export type Step = {
  /** Its name in the address: it stays while the run grows. */
  id: string;
  kind: StepKind;
  name: string;
  /** What it says, in a few words; `detailOf` tells it of a call, too. */
  detail: string;
  depth: number;
  /** Cursors of its first and last entry; null while it goes on. */
  since: number;
  until: number | null;
  /** In microseconds since the answer began. */
  start: number;
  end: number;
  status: 'running' | 'finished' | 'failed' | 'waiting' | 'answered' | 'denied' | 'stopped';
  /** Why it failed. */
  error: string;
  tokens: CallTokens;
  /** Undefined without a price list; null: a price is missing. */
  cost: number | null | undefined;
  /** The call that a tool or an agent answers, or that an approval is of. */
  call: string;
  children: Step[];
};

/** Return the steps of a film that are in no other, in order. */
export const stepsOf = once((film: Film): readonly Step[] => {
  const tree = new Tree(film);
  for (const call of film.items.calls ?? []) tree.addModelCall(call);
  if (!film.items.calls?.length) for (const item of film.items.said) if (isText(item)) tree.addText(item);
  for (const wait of film.items.waits) tree.addWait(wait);
  tree.addWrites();
  tree.addEnd();
  return tree.finish();
});

/** Return all steps of a film, each before those inside of it. */
export const allSteps = once((film: Film): readonly Step[] => {
  const found: Step[] = [];
  const visit = (steps: readonly Step[]) => {
    for (const step of steps) {
      found.push(step);
      visit(step.children);
    }
  };
  visit(stepsOf(film));
  return found;
});

/** Return a step by its name in the address; null where the film has none. */
export function stepNamed(film: Film, id: string | undefined): Step | null {
  return (id && byId(film).get(id)) || null;
}

const byId = once((film: Film) => new Map(allSteps(film).map((step) => [step.id, step])));

/** The steps that wait for approvals and nothing else. */
const approvalSteps = once((film: Film): ReadonlySet<string> => {
  const asked = new Set(film.items.waits.filter(({ is }) => is.kind === 'approval').map(({ is }) => is.call));
  const found = new Set<string>();
  // Children come after what they stand in.
  for (const { id, status, call, children } of allSteps(film).toReversed()) {
    if (status !== 'waiting') continue;
    const inside = children.filter((child) => child.status === 'waiting');
    if (inside.length ? inside.every((child) => found.has(child.id)) : asked.has(call)) found.add(id);
  }
  return found;
});

/** Return how a step stands when the conversation has gone on: the message that followed took the place of approvals. */
export function statusPassed(film: Film, { id, kind, status }: Step): Step['status'] {
  if (status !== 'waiting' || !approvalSteps(film).has(id)) return status;
  return kind === 'agent' ? 'finished' : 'answered';
}

/** Return which step an entry is in, counted from 1, of how many. */
export function stepNumber(film: Film, at: number): { number: number; of: number } {
  const starts = stepStarts(film);
  return { number: Math.max(1, countNotPast(starts, at)), of: Math.max(1, starts.length) };
}

/** Return how many of some sorted cursors are not past one. */
export function countNotPast(cursors: readonly number[], at: number): number {
  let low = 0;
  let high = cursors.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cursors[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The cursors at which steps began, in order. */
export const stepStarts = once((film: Film) =>
  allSteps(film)
    .map(({ since }) => since)
    .sort((a, b) => a - b),
);

/** Return what a step was given, or what it says, in a few words: of thousands of steps, few are ever in sight. */
export function detailOf(film: Film, { detail, call, kind }: Step): string {
  const asked = !detail && kind !== 'approval' && callsOf(film).get(call);
  return asked ? preview(saidAt(asked, Infinity).input as Json) : detail;
}

const callsOf = once(
  ({ items }: Film): ReadonlyMap<string, SaidItem> =>
    new Map(items.said.filter(({ is }) => is.kind === 'call').map((item) => [String(item.is.call), item])),
);

type Item<Kind extends keyof Film['items']> = NonNullable<Film['items'][Kind]>[number];

class Tree {
  private readonly steps = new Map<string, Step>();
  private readonly parents = new Map<string, string>();
  private readonly roots: Step[] = [];
  private readonly calls: ReadonlyMap<string, SaidItem>;
  private readonly now: number;
  private named?: ReadonlyMap<string, readonly NodeItem[]>;

  constructor(private readonly film: Film) {
    this.now = timeAt(film, film.last);
    this.calls = callsOf(film);
    // A tool that only runs an agent is that agent.
    const inside = new Map<string, NodeItem>();
    for (const node of film.items.nodes)
      if (node.is.kind !== 'tool' && node.is.call) inside.set(`${node.is.parent} ${node.is.call}`, node);
    const merged = new Map<string, string>();
    for (const node of film.items.nodes) {
      const agent = node.is.kind === 'tool' ? inside.get(`${node.is.node} ${node.is.call}`) : undefined;
      if (agent) merged.set(node.is.node, agent.is.node);
    }
    for (const node of film.items.nodes) {
      const parent = node.is.parent;
      const isMerged = merged.get(parent) === node.is.node;
      this.parents.set(node.is.node, isMerged ? (this.parents.get(parent) ?? '') : parent);
      if (merged.has(node.is.node)) continue;
      this.put(this.ofNode(node), isMerged ? (this.parents.get(parent) ?? '') : parent, node.is.node);
    }
    // What else stood in a tool that runs an agent stands in the agent.
    for (const [tool, agent] of merged) this.steps.set(tool, this.steps.get(agent)!);
  }

  private put(step: Step, parent: string, name?: string): void {
    const around = this.steps.get(parent);
    (around ? around.children : this.roots).push(step);
    if (name !== undefined) this.steps.set(name, step);
  }

  private ofNode(node: NodeItem): Step {
    const { film, now } = this;
    const end = endOf(node);
    const call = this.calls.get(node.is.call);
    return {
      id: `n${node.index}`,
      kind: node.is.kind,
      name: node.is.name,
      detail: '',
      depth: 0,
      since: node.since,
      until: end ? end.cursor : null,
      start: node.is.start,
      end: end ? end.end : now,
      status: end ? statusOf(end.status, film) : film.ended ? 'stopped' : 'running',
      error: end?.error ? String((call && saidAt(call, Infinity).error) ?? end.error) : '',
      tokens: tokensAt(node, Infinity),
      cost: costAt([node], Infinity),
      call: node.is.call,
      children: [],
    };
  }

  addModelCall({ index, since, is }: Item<'calls'>): void {
    const finish = is.finish && is.finish !== 'STOP' ? is.finish.toLowerCase().replaceAll('_', ' ') : '';
    const step = plain(`c${index}`, 'model', is.model || 'model', since, is.start, finish);
    step.end = is.start + is.durationMs * 1000;
    step.status = is.error ? 'failed' : 'finished';
    step.error = is.error;
    step.tokens = is.tokens;
    step.cost = is.cost;
    step.until = since;
    this.put(step, is.node);
  }

  /** Where model calls were not recorded, what a model said stands for them. */
  addText(item: SaidItem): void {
    const text = String(saidAt(item, Infinity).text ?? '');
    if (!text) return;
    const last = item.marks.at(-1)?.[0] ?? item.since;
    const name = item.is.kind === 'reasoning' ? 'Thought' : 'Text';
    const step = plain(`t${item.index}`, 'text', name, item.since, timeAt(this.film, item.since), preview(text));
    step.until = last;
    step.end = timeAt(this.film, last);
    this.put(step, item.is.node ?? '');
  }

  /** A wait stands beside the call that it is for. */
  addWait({ index, since, is, marks }: Item<'waits'>): void {
    const call = this.calls.get(is.call);
    const said = call && saidAt(call, Infinity);
    const over = marks[0];
    const name = is.kind === 'approval' ? `Approval of ${String(said?.name ?? 'a call')}` : `Waiting for ${is.kind}`;
    const reason = said?.status === 'denied' ? String(said.reason ?? '') : '';
    const step = plain(`w${index}`, 'approval', name, since, is.start, reason);
    step.until = over ? over[0] : null;
    step.end = over ? over[1].end : is.start;
    step.status = said?.status === 'denied' ? 'denied' : over ? 'finished' : 'waiting';
    step.call = is.call;
    const node = callNode(this.film, is.call);
    this.put(step, node?.is.parent ?? call?.is.node ?? this.film.items.nodes[0]?.is.node ?? '');
  }

  /** What one writer wrote at one entry is one change. */
  addWrites(): void {
    const writes = new Map<string, { cursor: number; writer: string; keys: string[] }>();
    for (const { is, marks } of this.film.items.keys) {
      for (const [cursor, { writer }] of marks) {
        if (cursor <= 1 || writer === 'start') continue;
        const known = writes.get(`${cursor} ${writer}`);
        if (known) known.keys.push(is.key);
        else writes.set(`${cursor} ${writer}`, { cursor, writer, keys: [is.key] });
      }
    }
    for (const { cursor, writer, keys } of writes.values()) {
      const step = plain(`s${cursor}`, 'state', keys.join(', '), cursor, timeAt(this.film, cursor));
      step.until = cursor;
      this.put(step, this.writerAt(writer, cursor));
    }
  }

  /**
   * Return who wrote at an entry: the node of that name that began or ended there, else the innermost one that ran, or
   * had just ended. Of one tool, several calls may run at once.
   */
  private writerAt(writer: string, cursor: number): string {
    const isBound = (node: NodeItem) => node.since === cursor || endOf(node)?.cursor === cursor;
    const runs = (node: NodeItem) => node.since <= cursor && (endOf(node)?.cursor ?? Infinity) + 2 >= cursor;
    this.named ??= grouped(this.film.items.nodes, ({ is }) => is.name);
    const named = this.named.get(writer);
    const node = named?.findLast(isBound) ?? named?.findLast(runs) ?? this.film.items.nodes[0];
    return node?.is.node ?? '';
  }

  /** A run that failed outside of every node says so itself. */
  addEnd(): void {
    const { ended, items } = this.film;
    if (ended?.outcome !== 'failed' || items.nodes.some((node) => endOf(node)?.status === 'failed')) return;
    const said = items.said.findLast(({ is }) => is.kind === 'end');
    const step = plain('end', 'error', ended.code || 'Failed', ended.cursor, timeAt(this.film, ended.cursor));
    step.status = 'failed';
    step.until = ended.cursor;
    step.error = String(said?.is.text ?? ended.code);
    this.put(step, '');
  }

  finish(): Step[] {
    const order = (steps: Step[], depth: number) => {
      steps.sort((a, b) => a.start - b.start || a.since - b.since);
      for (const step of steps) {
        step.depth = depth;
        order(step.children, depth + 1);
        for (const { end } of step.children) step.end = Math.max(step.end, end);
      }
    };
    order(this.roots, 0);
    return this.roots;
  }
}

function plain(id: string, kind: StepKind, name: string, since: number, start: number, detail = ''): Step {
  return {
    id,
    kind,
    name,
    detail,
    depth: 0,
    since,
    until: null,
    start,
    end: start,
    status: 'finished',
    error: '',
    tokens: {},
    cost: undefined,
    call: '',
    children: [],
  };
}

function statusOf(status: string, film: Film): Step['status'] {
  if (status === 'failed' || status === 'waiting') return status;
  return status === 'running' ? (film.ended ? 'stopped' : 'running') : status === 'cancelled' ? 'stopped' : 'finished';
}

/** Return how long a step worked, in microseconds, without what a person took to answer, and how long that was. */
export function timesOf(film: Film, { kind, start, end }: Step): { worked: number; waited: number } {
  if (kind === 'approval') return { worked: end - start, waited: 0 }; // Waiting is all that it does.
  const waited = waitedBetween(film, start, end);
  return { worked: end - start - waited, waited };
}

/** What an answer took, in one line below it. */
export type Receipt = {
  seconds: number;
  /** That a person took to answer, beside the seconds. */
  waited: number;
  modelCalls: number;
  tools: number;
  tokens: number;
  cost: number | null | undefined;
  failures: number;
};

export const receiptOf = once((film: Film): Receipt => {
  const steps = allSteps(film);
  const whole = timeAt(film, film.last);
  const waited = waitedBetween(film, 0, whole);
  return {
    seconds: (whole - waited) / SECOND,
    waited: waited / SECOND,
    modelCalls: steps.filter(({ kind }) => kind === 'model').length,
    tools: steps.filter(({ kind }) => kind === 'tool').length,
    tokens: film.items.nodes.reduce((sum, node) => sum + (tokensAt(node, Infinity).total ?? 0), 0),
    cost: costAt(film.items.nodes, Infinity),
    failures: steps.filter(({ kind, status }) => kind === 'tool' && status === 'failed').length,
  };
});
