/** Thumbs on an answer, and a note that explains them. Pressing a thumb again takes it back. */
import { useState } from 'react';
import { explain } from '../app/problem';
import { Icon } from '../ui/Icon';
import { useActions } from './ChatContext';
import { useFeedback, useRunFeedback, type GivenAndGive } from './feedback';
import type { Message } from './message';
import * as words from '../words/chat';

const THUMBS = [
  { score: 1, icon: 'thumbUp', label: words.goodAnswer },
  { score: -1, icon: 'thumbDown', label: words.badAnswer },
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
          <button key={score} type="button" className="button" data-look="quiet" data-square="" aria-pressed={isPressed} aria-label={label} title={label} onClick={() => void send(isPressed ? null : score, given?.comment)}>
            <Icon name={icon} />
          </button>
        );
      })}
      {given && (
        <button type="button" className="button" data-look="quiet" aria-expanded={note !== null} onClick={() => setNote(note === null ? given.comment : null)}>
          {given.comment ? words.yourNote : words.addANote}
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
          <textarea className="field" autoFocus rows={2} maxLength={2000} aria-label={words.whatWasGoodOrBad} placeholder={words.notePlaceholder} value={note} onChange={(event) => setNote(event.target.value)} onKeyDown={(event) => event.key === 'Escape' && setNote(null)} />
          <button type="submit" className="button" data-look="primary">
            {words.saveNote}
          </button>
        </form>
      )}
      {problem && (
        <span className="feedback-problem" role="alert">
          {words.notSaved(problem)}
        </span>
      )}
    </>
  );
}
