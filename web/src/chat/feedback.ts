/** What a person thinks of the answers of a conversation: read once, and kept on the server. */
import { loadFeedback, sendFeedback, type GivenFeedback } from '@adk-prism/client';
import { useEffect, useState } from 'react';
import { getJson, postJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Message } from './message';
import { connectionOf, type Where } from './requests';

export type Feedback = GivenFeedback;

const known = new Map<string, Promise<Map<string, Feedback>>>();

export type GivenAndGive = [Feedback | null, (score: number | null, comment?: string) => Promise<void>];

/** Of a run alone: its answer has no message of a chat. Null until the server has said what there is. */
export function useRunFeedback(run: string): GivenAndGive | null {
  const [known, setKnown] = useState<{ given: Feedback | null } | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<Feedback[]>(path('api', 'runs', run, 'feedback'), leaving.signal).then(
      (all) => setKnown({ given: all[0] ?? null }),
      () => {}, // Not for this reader.
    );
    return () => leaving.abort();
  }, [run]);
  const give = async (score: number | null, comment = '') => {
    const kept = await postJson<{ messageId: string }>(path('api', 'runs', run, 'feedback'), { score, comment });
    setKnown({ given: score === null ? null : { messageId: kept.messageId, score, comment } });
  };
  return known && [known.given, give];
}

export function useFeedback({ app, user, session }: Where, message: Message): GivenAndGive {
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
