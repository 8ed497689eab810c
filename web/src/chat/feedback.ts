/** What a person thinks of the answers of a conversation: read once, and kept on the server. */
import { useEffect, useState } from 'react';
import { getJson, postJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Message } from './message';
import type { Where } from './requests';

/** From -1, bad, to 1, good. */
export type Feedback = { messageId: string; score: number; comment: string };

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
    await postJson(path('api', 'runs', run, 'feedback'), { messageId: message.id, score, comment });
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

async function load({ app, user, session }: Where): Promise<Map<string, Feedback>> {
  try {
    const all = await getJson<Feedback[]>(`${path('api', 'chat', app, session, 'feedback')}?${new URLSearchParams({ userId: user })}`);
    return new Map(all.map((one) => [one.messageId, one]));
  } catch {
    return new Map(); // The message is shown without it; giving some says what is wrong.
  }
}
