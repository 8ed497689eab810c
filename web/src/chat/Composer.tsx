/** Where the person writes. Enter sends, Shift+Enter breaks the line; files come by button, paste or drop. */
import type { FileUIPart } from 'ai';
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
} from 'react';
import { Icon } from '../ui/Icon';
import { keepDraft, readDraft } from '../app/drafts';
import { AttachmentList, useAttachments, type Upload } from './attachments';

type Props = {
  app: string;
  /** Key of the draft. */
  chat: string;
  isBusy: boolean;
  /** Why nothing can be sent; empty: it can. */
  blocked: string;
  /** The past is shown: what is sent creates a fork. */
  isForking: boolean;
  /** Return whether it was taken; what was not stays in the field. */
  onSend(text: string, files: FileUIPart[]): Promise<boolean>;
  onStop(): void;
  /** Go on by voice; null where that cannot be, or is so already. */
  onTalk: (() => void) | null;
  /** Send a large file ahead; null where it has to travel inside of the message. */
  upload: Upload | null;
};

const TALLEST = 240;

export function Composer({ app, chat, isBusy, blocked, isForking, onSend, onStop, onTalk, upload }: Props) {
  const [text, setText] = useState(() => readDraft(chat));
  const files = useAttachments(upload);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => keepDraft(chat, text), [chat, text]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is measured again for each text
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = 'auto';
    element.style.height = `${Math.min(element.scrollHeight, TALLEST)}px`;
  }, [text]);

  const canSend = !blocked && !isBusy && files.parts !== null && (text.trim() !== '' || files.list.length > 0);
  const submit = async () => {
    if (!canSend || !files.parts) return;
    const sent = { text, list: files.list };
    setText('');
    files.clear();
    if (await onSend(sent.text.trim(), files.parts)) return;
    setText(sent.text);
    files.restore(sent.list);
  };
  const add = (list: FileList | null) => {
    if (!list?.length) return;
    files.add(list);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) add(event.clipboardData.files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    add(event.dataTransfer.files);
  };
  return (
    <form
      className="composer"
      aria-label="Your message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
    >
      <AttachmentList attachments={files} />
      <textarea
        ref={field}
        id="composer"
        rows={1}
        value={text}
        placeholder={blocked || (isForking ? 'Reply from here: creates a fork' : `Message ${app}…`)}
        aria-label="Message"
        aria-describedby={blocked ? 'composer-blocked' : undefined}
        disabled={!!blocked}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      {blocked && (
        <span id="composer-blocked" className="visually-hidden">
          {blocked}
        </span>
      )}
      <div className="composer-row">
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          title="Attach files"
          aria-label="Attach files"
          disabled={!!blocked}
          onClick={() => picker.current?.click()}
        >
          <Icon name="attach" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          onChange={(event) => {
            add(event.target.files);
            event.target.value = '';
          }}
        />
        <span className="hint">
          <kbd>/</kbd> focus <kbd>↵</kbd> send <kbd>⇧↵</kbd> new line
        </span>
        {onTalk && (
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            title="Talk"
            aria-label="Talk"
            disabled={!!blocked || isBusy}
            onClick={onTalk}
          >
            <Icon name="mic" />
          </button>
        )}
        {isBusy ? (
          <button type="button" className="button" onClick={onStop} title="Stop (Esc)">
            <Icon name="stop" /> Stop
          </button>
        ) : (
          <button
            type="submit"
            className="button"
            data-look="primary"
            data-square=""
            disabled={!canSend}
            title={blocked || 'Send'}
            aria-label="Send"
          >
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
