/** Thumbs on an answer, and a note that explains them. Pressing a thumb again takes it back. */
import { useState } from 'react';
import { queries, useServerData } from '../../app/query';
import { explain, getJson, postJson, path } from '../../app/server';
import { Icon } from '../../ui/Icon';
import { useActions } from '../../chat/ChatContext';
import type { Message } from '../../chat/message';
import { loadFeedback, sendFeedback, type GivenFeedback } from '@adk-prism/client';
import { connectionOf, type Where } from '../../chat/transport';

/** What a person thinks of the answers of a conversation: read once, and kept on the server. */
export type Rating = GivenFeedback;

export type GivenAndGive = [Rating | null, (score: number | null, comment?: string) => Promise<void>];

/** Of a run alone: its answer has no message of a chat. Null until the server has said what there is. */
export function useRunFeedback(run: string): GivenAndGive | null {
  const key = ['feedback', run];
  const address = path('api', 'runs', run, 'feedback');
  // Where it fails, it is not for this reader.
  const { data } = useServerData(key, (signal) => getJson<Rating[]>(address, signal));
  const give = async (score: number | null, comment = '') => {
    const { messageId } = await postJson<{ messageId: string }>(address, { score, comment });
    queries.setQueryData<Rating[]>(key, score === null ? [] : [{ messageId, score, comment }]);
  };
  return data ? [data[0] ?? null, give] : null;
}

export function useFeedback({ app, user, session }: Where, { id, metadata }: Message): GivenAndGive {
  const where = { app, user, session };
  const key = ['feedback', where];
  // Where it fails, the message is shown without it; giving some says what is wrong.
  const { data = [] } = useServerData(key, () => loadFeedback(connectionOf(where), session), { staleTime: Infinity });
  const give = async (score: number | null, comment = '') => {
    await sendFeedback(connectionOf(where), { runId: metadata?.runId ?? id, messageId: id, score, comment });
    queries.setQueryData<Rating[]>(key, (known = []) => [
      ...known.filter(({ messageId }) => messageId !== id),
      ...(score === null ? [] : [{ messageId: id, score, comment }]),
    ]);
  };
  return [data.find(({ messageId }) => messageId === id) ?? null, give];
}

const THUMBS = [
  { score: 1, icon: 'thumbUp', label: 'Good answer' },
  { score: -1, icon: 'thumbDown', label: 'Bad answer' },
] as const;

/** Where an answer of a run that the server keeps is shown. */
export function Feedback({ message }: { message: Message }) {
  const { conversation, answer } = useActions();
  const isKept = message.metadata?.runId !== undefined && message.metadata.derived !== true;
  if (answer?.message === message.id) return <RunFeedback run={answer.run} />;
  return conversation || isKept ? message.metadata?.derived !== true && <ChatFeedback message={message} /> : null;
}

function ChatFeedback({ message }: { message: Message }) {
  return <FeedbackButtons feedback={useFeedback(useActions(), message)} />;
}

/** Whoever may not say anything about a run, such as a guest, is not asked. */
function RunFeedback({ run }: { run: string }) {
  const feedback = useRunFeedback(run);
  return feedback && <FeedbackButtons feedback={feedback} />;
}

function FeedbackButtons({ feedback: [given, give] }: { feedback: GivenAndGive }) {
  const [note, setNote] = useState<string | null>(null);
  const [problem, setProblem] = useState('');
  const send = async (score: number | null, comment = '') => {
    setProblem('');
    try {
      await give(score, comment);
      setNote(null);
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <>
      {THUMBS.map(({ score, icon, label }) => {
        const isPressed = given !== null && Math.sign(given.score) === score;
        return (
          <button
            key={score}
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            aria-pressed={isPressed}
            aria-label={label}
            title={label}
            onClick={() => void send(isPressed ? null : score, given?.comment)}
          >
            <Icon name={icon} />
          </button>
        );
      })}
      {given && (
        <button
          type="button"
          className="button"
          data-look="quiet"
          aria-expanded={note !== null}
          onClick={() => setNote(note === null ? given.comment : null)}
        >
          {given.comment ? 'Your note' : 'Add a note'}
        </button>
      )}
      {given && note !== null && (
        <form
          className="feedback-note"
          onSubmit={(event) => {
            event.preventDefault();
            void send(given.score, note.trim());
          }}
        >
          <textarea
            className="field"
            autoFocus
            rows={2}
            maxLength={2000}
            aria-label="What was good or bad about this answer?"
            placeholder="What was good or bad?"
            value={note}
            onChange={(event) => setNote(event.target.value)}
            onKeyDown={(event) => event.key === 'Escape' && setNote(null)}
          />
          <button type="submit" className="button" data-look="primary">
            Save note
          </button>
        </form>
      )}
      {problem && (
        <span className="feedback-problem" role="alert">
          {`Not saved: ${problem}`}
        </span>
      )}
    </>
  );
}
