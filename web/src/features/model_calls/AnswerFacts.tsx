/** What a message cost, where the server knows prices of its models; of the last one also what the conversation cost. */
import { costNumber, costWords } from '../../ui/format';
import { linkTo } from '../../app/route';
import { useActions, useRun } from '../../chat/ChatContext';
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
