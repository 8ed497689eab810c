/** What a message cost, where the server knows prices of its models; of the last one also what the conversation cost. */
import { costNumber, costWords } from '../../ui/format';
import { useActions } from '../../chat/ChatContext';
import type { Message } from '../../chat/message';
import { useEffect } from 'react';
import { useServerData } from '../../app/query';
import { getJson } from '../../app/server';
import { shared } from '../../film/sharedFile';
import { totalCost, type Cost } from '../../film/timeline';
import type { Where } from '../../chat/transport';

/**
 * What the messages of a conversation cost, by the server's price list: asked for once, and again after a new message.
 */
type FoundRun = { message: string; cost?: number | null };
type Costs = {
  /** By message; of several runs the sum, null if a price is missing. */
  messages: ReadonlyMap<string, Cost>;
  all: Cost;
};

const MOST_RUNS = '200'; // What one answer of the server holds.

/** Return what a message cost, and the conversation; null where that is not known. */
function useMessageCost({ app, user, session }: Where, message: string): { own: Cost; all: Cost } | null {
  const where = { app, user, session };
  const options = { enabled: !shared(), staleTime: Infinity };
  const { data: costs, refetch } = useServerData(['costs', where], (signal) => loadCosts(where, signal), options);
  const isMissing = costs !== undefined && !costs.messages.has(message);
  useEffect(() => {
    if (isMissing) void refetch({ cancelRefetch: false });
  }, [isMissing, refetch]);
  return costs ? { own: costs.messages.get(message), all: costs.all } : null;
}

async function loadCosts(where: Where, signal: AbortSignal): Promise<Costs> {
  const query = new URLSearchParams({ ...where, limit: MOST_RUNS });
  const runs = await getJson<FoundRun[]>(`api/runs?${query}`, signal);
  const messages = new Map<string, Cost>();
  for (const { message, cost } of runs)
    messages.set(message, totalCost([...(messages.has(message) ? [messages.get(message)] : []), cost]));
  return { messages, all: totalCost(runs.map(({ cost }) => cost)) };
}

/** Below an answer: what it cost. */
export function AnswerFacts({ message, last }: { message: Message; last: boolean }) {
  const cost = useMessageCost(useActions(), message.id);
  if (!cost || cost.own === undefined) return null;
  const all =
    last && typeof cost.all === 'number' && cost.all !== cost.own
      ? ` ${`(${costNumber(cost.all)} in this conversation)`}`
      : '';
  return (
    <span>
      {costWords(cost.own)}
      {all}
    </span>
  );
}
