/** What a person thinks of the answers of a conversation: read once, and kept on the server. */
import { loadFeedback, sendFeedback, type GivenFeedback } from '@adk-prism/client';
import { useEffect, useState } from 'react';
import type { Message } from './message';
import { connectionOf, type Where } from './requests';

export type Feedback = GivenFeedback;

const known = new Map<string, Promise<Map<string, Feedback>>>();

export function useFeedback({ app, user, session }: Where, message: Message): [Feedback | null, (score: number | null, comment?: string) => Promise<void>] {
  const [given, setGiven] = useState<Feedback | null>(null);
  useEffect(() => {
    let isLeft = false;
    void feedbackOf({ app, user, session }).then((all) => !isLeft && setGiven(all.get(message.id) ?? null));
    return () => {
      isLeft = true;
    };
  }, [app, user, session, message.id]);
  const give = async (score: number | null, comment = '') => {
    const run = message.metadata?.runId ?? message.id;
    await sendFeedback(connectionOf({ app, user, session }), { runId: run, messageId: message.id, score, comment });
    const next = score === null ? null : { messageId: message.id, score, comment };
    const all = await feedbackOf({ app, user, session });
    if (next) all.set(message.id, next);
    else all.delete(message.id);
    setGiven(next);
  };
  return [given, give];
}

function feedbackOf(where: Where): Promise<Map<string, Feedback>> {
  const key = JSON.stringify([where.app, where.user, where.session]);
  const found = known.get(key) ?? load(where);
  known.set(key, found);
  return found;
}

async function load(where: Where): Promise<Map<string, Feedback>> {
  try {
    const all = await loadFeedback(connectionOf(where), where.session);
    return new Map(all.map((one) => [one.messageId, one]));
  } catch {
    return new Map(); // The message is shown without it; giving some says what is wrong.
  }
}
