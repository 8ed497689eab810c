/** The search plan that a conversation waits for, and the call that asks for the same. */
import { waitingPlan } from '../film/grounding';
import { isTool, type Message } from './message';
import { useRun } from './RunContext';

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
  return message?.parts.some((part) => isTool(part) && part.state === 'approval-requested' && isPlanned(plan, part.input)) ?? false;
}
