/** What the messages of a conversation cost, by the server's price list: asked for once, and again after a new message. */
import { useEffect, useState } from 'react';
import { getJson } from '../app/request';
import { shared } from '../film/sharedFile';
import { totalCost } from '../film/timeline';
import type { Where } from './requests';

type FoundRun = { message: string; cost?: number | null };
type Costs = {
  /** By message; of several runs the sum, null if a price is missing. */
  messages: ReadonlyMap<string, number | null>;
  all: number | null;
};

const MOST_RUNS = '200'; // What one answer of the server holds.
const known = new Map<string, Promise<Costs | null>>();
let isPriced = true; // A server without a price list is asked once.

/** Return what a message cost, and the conversation; null where that is not known. */
export function useMessageCost({ app, user, session }: Where, message: string): { own: number | null; all: number | null } | null {
  const [costs, setCosts] = useState<Costs | null>(null);
  useEffect(() => {
    let isLeft = false;
    void costsOf({ app, user, session }, message).then((found) => !isLeft && setCosts(found));
    return () => {
      isLeft = true;
    };
  }, [app, user, session, message]);
  const own = costs?.messages.get(message);
  return costs && own !== undefined ? { own, all: costs.all } : null;
}

async function costsOf(where: Where, message: string): Promise<Costs | null> {
  if (!isPriced || shared()) return null;
  const key = JSON.stringify([where.app, where.user, where.session]);
  const last = known.get(key);
  if ((await last)?.messages.has(message)) return last!;
  // Of many messages that ask at once, the first one does.
  if (known.get(key) === last) known.set(key, load(where));
  return known.get(key)!;
}

async function load({ app, user, session }: Where): Promise<Costs | null> {
  try {
    const runs = await getJson<FoundRun[]>(`api/runs?${new URLSearchParams({ app, user, session, limit: MOST_RUNS })}`);
    isPriced = runs.length === 0 || runs.some(({ cost }) => cost !== undefined);
    const priced = runs.filter(({ cost }) => cost !== undefined);
    const messages = new Map<string, number | null>();
    for (const { message, cost } of priced) messages.set(message, totalCost([...(messages.has(message) ? [messages.get(message)!] : []), cost!]));
    return { messages, all: totalCost(priced.map(({ cost }) => cost!)) };
  } catch {
    return null; // The message is shown without its cost.
  }
}
