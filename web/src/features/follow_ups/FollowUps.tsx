/** Below the last answer: what the person may say next, as the app suggests it. Pressing one says it. */
import { loadSuggestions } from '@adk-prism/client';
import { useEffect } from 'react';
import { useCatalogue } from '../../app/catalogue';
import { useServerData } from '../../app/query';
import type { Message } from '../../chat/message';
import { connectionOf, type Where } from '../../chat/transport';

type Props = { where: Where; message: Message; onSay: (text: string) => void };

export default function FollowUps({ where: { app, user, session }, message: { id, metadata }, onSay }: Props) {
  const { conversations, refresh } = useCatalogue();
  const where = { app, user, session };
  const load = (signal: AbortSignal) => loadSuggestions(connectionOf(where), session, signal);
  // Where it fails, nothing is suggested. An answer that goes on after an approval is of another run.
  const { data } = useServerData(['suggestions', where, id, metadata?.runId], load, { staleTime: Infinity });
  const listed = conversations?.find((known) => known.app === app && known.session === session);
  const isNamed = !data?.title || (listed !== undefined && listed.title !== listed.said);
  useEffect(() => {
    if (!isNamed) refresh(); // The conversation has got a title.
  }, [isNamed, refresh]);
  if (data?.messageId !== id || data.suggestions.length === 0) return null;
  const say = (text: string) => {
    onSay(text);
    document.getElementById('composer')?.focus(); // What was pressed is gone.
  };
  return (
    <ul className="prompts" aria-label="Suggestions">
      {data.suggestions.map((text) => (
        <li key={text}>
          <button type="button" onClick={() => say(text)}>
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
