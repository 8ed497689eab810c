/** Below an answer: its run with edits, beside the chat. */
import { linkTo } from '../../app/route';
import { useActions, useRun } from '../../chat/ChatContext';
import type { Message } from '../../chat/message';
import { shared } from '../../film/sharedFile';

export default function EditAnswer({ message }: { message: Message }) {
  const { openTrace, onlyAnswer, originals } = useActions();
  const film = useRun();
  const { runId, derived } = message.metadata ?? {};
  const answered = runId ?? (onlyAnswer === message.id ? film?.run : undefined);
  if (!answered || derived || shared()) return null;
  // The answers of models, which are used again, are those of the run that took place.
  const original = originals?.get(message.id);
  return (
    <a
      className="button"
      data-look="quiet"
      href={linkTo({ kind: 'run', run: original ?? answered }, 'rerun')}
      title="Change the message, an instruction or a tool's arguments, and see what differs"
      onClick={(event) => {
        if (original || !openTrace || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        openTrace(answered, 'rerun');
      }}
    >
      Edit and run again
    </a>
  );
}
