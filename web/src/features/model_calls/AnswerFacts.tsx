/** What a message cost, where the server has a price list; of the last one also what the conversation cost. */
import { costNumber, costWords } from '../../ui/format';
import { linkTo } from '../../app/route';
import { useActions, useRun } from '../../chat/ChatContext';
import type { Message } from '../../chat/message';
import { useEffect } from 'react';
import { useServerData } from '../../app/query';
import { getJson } from '../../app/server';
import { shared } from '../../film/sharedFile';
import { totalCost } from '../../film/timeline';
import type { Where } from '../../chat/transport';

/**
 * What the messages of a conversation cost, by the server's price list: asked for once, and again after a new message.
 */
type FoundRun = { message: string; cost?: number | null };
type Costs = {
  /** By message; of several runs the sum, null if a price is missing. */
  messages: ReadonlyMap<string, number | null>;
  all: number | null;
};

const MOST_RUNS = '200'; // What one answer of the server holds.
let isPriced = true; // A server without a price list is asked once.

/** Return what a message cost, and the conversation; null where that is not known. */
function useMessageCost(
  { app, user, session }: Where,
  message: string,
): { own: number | null; all: number | null } | null {
  const where = { app, user, session };
  const options = { enabled: isPriced && !shared(), staleTime: Infinity };
  const { data: costs, refetch } = useServerData(['costs', where], (signal) => loadCosts(where, signal), options);
  const own = costs?.messages.get(message);
  const isMissing = costs !== undefined && own === undefined && isPriced;
  useEffect(() => {
    if (isMissing) void refetch({ cancelRefetch: false });
  }, [isMissing, refetch]);
  return costs && own !== undefined ? { own, all: costs.all } : null;
}

async function loadCosts(where: Where, signal: AbortSignal): Promise<Costs> {
  const query = new URLSearchParams({ ...where, limit: MOST_RUNS });
  const runs = await getJson<FoundRun[]>(`api/runs?${query}`, signal);
  isPriced = runs.length === 0 || runs.some(({ cost }) => cost !== undefined);
  const priced = runs.filter(({ cost }) => cost !== undefined);
  const messages = new Map<string, number | null>();
  for (const { message, cost } of priced)
    messages.set(message, totalCost([...(messages.has(message) ? [messages.get(message)!] : []), cost!]));
  return { messages, all: totalCost(priced.map(({ cost }) => cost!)) };
}

/** Below an answer: what it cost, and a link to what was sent to the model. */
export function AnswerFacts({ message, last }: { message: Message; last: boolean }) {
  const { originals } = useActions();
  // What was sent to models stays with the run that sent it.
  const run = originals?.get(message.id) ?? message.metadata?.runId;
  return (
    <>
      <MessageCost message={message.id} last={last} />
      {run && <ModelCalls run={run} />}
    </>
  );
}

function MessageCost({ message, last }: { message: string; last: boolean }) {
  const cost = useMessageCost(useActions(), message);
  if (!cost) return null;
  const all =
    last && cost.all !== null && cost.all !== cost.own ? ` ${`(${costNumber(cost.all)} in this conversation)`}` : '';
  return (
    <span>
      {costWords(cost.own)}
      {all}
    </span>
  );
}

/** What was sent to the model: beside the chat, or where the panels show another run, with that run. */
function ModelCalls({ run }: { run: string }) {
  const { openPanel } = useActions();
  const isShown = useRun()?.run === run;
  const show = (event: { preventDefault(): void }) => {
    if (!isShown) return;
    event.preventDefault();
    openPanel('model');
  };
  return (
    <a href={linkTo({ kind: 'run', run }, 'model')} title="See what was sent to the model" onClick={show}>
      Model calls
    </a>
  );
}
