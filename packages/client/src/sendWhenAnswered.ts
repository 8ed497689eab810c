/** When a chat goes on by itself: once everything that a message asks the person or the page is answered. */

type Part = { type: string; state?: string; toolCallId?: string; providerExecuted?: boolean; data?: unknown };
type Message = { role: string; parts: readonly unknown[] };

/** States of a call that nobody has answered yet. */
const OPEN: ReadonlySet<string> = new Set(['approval-requested', 'input-streaming', 'input-available']);
/** States of a call that has a result. */
const RESULT: ReadonlySet<string> = new Set(['output-available', 'output-error']);
const REQUESTS: ReadonlySet<string> = new Set(['data-input-request', 'data-credential-request']);

/**
 * For `sendAutomaticallyWhen`: approvals are decided, and tools of the page have their results, in any mixture. A call
 * that runs an agent and waits for an answer inside it does not count: it is the server's.
 */
export function sendWhenAnswered({ messages }: { messages: readonly Message[] }): boolean {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return false;
  const parts = last.parts as readonly Part[];
  if (isWaiting(last)) return false;
  const ours = callsOfClients(parts);
  const calls = callsOfLastStep(parts);
  if (calls.some(({ state }) => state === 'approval-responded')) return true;
  const hasResult = calls.some(({ state = '', toolCallId = '' }) => RESULT.has(state) && ours.has(toolCallId));
  return hasResult && !parts.some(({ type, data }) => REQUESTS.has(type) && !statusOf(data));
}

/** Tell whether a call of a message waits for a person's approval, or for a result of the page. */
export function isWaiting({ role, parts }: Message): boolean {
  const known = parts as readonly Part[];
  return role === 'assistant' && openCalls(known, callsOfLastStep(known)).length > 0;
}

/** Count the calls of a message that wait so, in whatever step: by voice, others may follow them. */
export function waitingCalls({ parts }: Message): number {
  const known = parts as readonly Part[];
  return openCalls(known, known.filter(isCall)).length;
}

function openCalls(parts: readonly Part[], calls: readonly Part[]): readonly Part[] {
  const ours = callsOfClients(parts);
  const expired = expiredCalls(parts);
  return calls.filter((call) => isOpen(call, ours) && !expired.has(call.toolCallId));
}

/** In writing, whatever is open is in the last step: the server closes a step only when its calls are settled. */
function callsOfLastStep(parts: readonly Part[]): Part[] {
  return parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1).filter(isCall);
}

function isCall({ type, providerExecuted }: Part): boolean {
  return (type === 'dynamic-tool' || type.startsWith('tool-')) && providerExecuted !== true;
}

function isOpen({ state = '', toolCallId = '' }: Part, ours: ReadonlySet<string>): boolean {
  return OPEN.has(state) && (state !== 'input-available' || ours.has(toolCallId));
}

/** Return the calls that a client may answer, and has not: those with a part `data-long-running`. */
function callsOfClients(parts: readonly Part[]): ReadonlySet<string> {
  const found = parts.filter(({ type, data }) => type === 'data-long-running' && !statusOf(data));
  return new Set(found.map(({ data }) => (data as { toolCallId: string }).toolCallId));
}

/** Return the calls whose approval nobody can give any more: the conversation went on before. */
function expiredCalls(parts: readonly Part[]): ReadonlySet<unknown> {
  const found = parts.filter(({ type, data }) => type === 'data-approval' && statusOf(data) === 'expired');
  return new Set(found.map(({ data }) => (data as { toolCallId: string }).toolCallId));
}

function statusOf(data: unknown): string | undefined {
  return (data as { status?: string } | null)?.status;
}
