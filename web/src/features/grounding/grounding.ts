/** The grounding box at a cursor: what a researcher is told of the state of the work. */
import type { Json } from '@adk-prism/client/film';
import { type Film, lastUpTo, present } from '../../film/film';
import { difference, type KeyChange } from '../../film/state';
import { isTool, type Message } from '../../chat/message';
import { useRun } from '../../chat/ChatContext';

export const PREFIX = 'grounding:';
const HISTORY = `${PREFIX}search_history`;
const STAGES = ['scoping', 'retrieval', 'synthesis', 'validation'];

export type Remedy = { number: number; name: string; label: string; [more: string]: Json };
export type Receipt = { number: number; since: number; new: boolean; time: string; [more: string]: Json };
type Unreadable = { key: string; value: Json; why: string };
export type GroundingView = {
  /** Whether the app keeps a box at all. */
  present: boolean;
  box: Record<string, Json>;
  step: { number: number; of: number } | null;
  /** What is different from how the run began. */
  changed: KeyChange[];
  receipts: Receipt[];
  remedies: Remedy[];
  unreadable: Unreadable[];
};

type Fields = { [key: string]: Json };

export function groundingAt(film: Film, at: number): GroundingView {
  const values: [string, Json][] = [];
  const unreadable: Unreadable[] = [];
  const why = faultsAt(film, at);
  for (const { is, marks } of film.items.keys) {
    const value = isTold(is.key) ? lastUpTo(marks, at)?.[1].value : undefined;
    if (value === undefined) continue;
    const fault = why.get(is.key);
    if (fault) unreadable.push({ key: is.key, value, why: fault });
    else values.push([is.key.slice(PREFIX.length), value]);
  }
  const box = Object.fromEntries(values);
  const kept = receiptsAt(film, at);
  const stage = STAGES.indexOf(String(box.stage));
  return {
    present: values.length + unreadable.length + kept.receipts.length + kept.unreadable.length > 0,
    box,
    step: stage < 0 ? null : { number: stage + 1, of: STAGES.length },
    changed: difference(film, 1, at).filter((change) => isTold(change.key)),
    receipts: kept.receipts,
    remedies: remedies((box.last_search_failure ?? null) as Fields | null),
    unreadable: [...unreadable, ...kept.unreadable],
  };
}

/** Return the search plan that waits for the researcher at the end of a run; null if none does. */
export function waitingPlan(film: Film): { [field: string]: Json } | null {
  if (film.ended === null) return null;
  const stateValue = (name: string) => {
    const item = film.items.keys.find(({ is }) => is.key === PREFIX + name);
    return item && lastUpTo(item.marks, film.last)?.[1].value;
  };
  const plan = stateValue('pending_search_plan');
  return typeof plan === 'object' && plan !== null && !Array.isArray(plan) && !stateValue('user_approval')
    ? plan
    : null;
}

function isTold(key: string): boolean {
  return key.startsWith(PREFIX) && key !== HISTORY;
}

function faultsAt(film: Film, at: number): Map<string, string> {
  return new Map(film.items.faults.map(({ is, marks }) => [is.key, lastUpTo(marks, at)?.[1] ?? '']));
}

function receiptsAt(film: Film, at: number): Pick<GroundingView, 'receipts' | 'unreadable'> {
  const receipts: Receipt[] = [];
  const unreadable: Unreadable[] = [];
  for (const { is, since, marks } of present(film.items.receipts, at)) {
    if (marks[0] && marks[0][0] <= at) continue;
    if (is.why) {
      unreadable.push({ key: `${HISTORY}[${is.number - 1}]`, value: is.receipt, why: is.why });
      continue;
    }
    const receipt = is.receipt as Fields;
    const time = /(?:^|T| )(\d\d:\d\d)/.exec(String(receipt.timestamp))?.[1] ?? '';
    receipts.push({ ...receipt, number: is.number, since, new: since > 1, time });
  }
  return { receipts, unreadable };
}

/** Return what the researcher can choose, numbered: the ready actions, else the words. */
function remedies(failure: Fields | null): Remedy[] {
  if (!failure) return [];
  const actions = (failure.actions ?? []) as Fields[];
  const words = failure.remedies as Fields;
  const ready = actions.length
    ? actions
    : ['primary', 'fallback'].filter((name) => words[name]).map((name) => ({ name, label: words[name] }));
  return ready.map((action, index) => ({ number: index + 1, ...action }) as Remedy);
}

/** The search plan that a conversation waits for, and the call that asks for the same. */
type Plan = { [field: string]: unknown };

export function useWaitingPlan(): Plan | null {
  const film = useRun();
  return film && waitingPlan(film);
}

/** Tell whether a call is what a plan plans: then the plan's answers are its answers. */
export function isPlanned(plan: Plan | null, input: unknown): boolean {
  const query = (input as { query?: unknown } | null | undefined)?.query;
  return plan !== null && typeof query === 'string' && query === plan.query;
}

/** Tell whether a message asks to approve what a plan plans. */
export function asksForPlan(plan: Plan, message: Message | undefined): boolean {
  return (
    message?.parts.some((part) => isTool(part) && part.state === 'approval-requested' && isPlanned(plan, part.input)) ??
    false
  );
}
