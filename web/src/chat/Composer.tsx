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
};

const TALLEST = 240;

export function Composer({ app, chat, isBusy, blocked, isForking, onSend, onStop, onTalk }: Props) {
  const [text, setText] = useState(() => readDraft(chat));
  const [files, setFiles] = useState<FileUIPart[]>([]);
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

  const canSend = !blocked && !isBusy && (text.trim() !== '' || files.length > 0);
  const submit = async () => {
    if (!canSend) return;
    const sent = { text, files };
    setText('');
    setFiles([]);
    if (await onSend(sent.text.trim(), sent.files)) return;
    setText(sent.text);
    setFiles(sent.files);
  };
  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    const parts = await Promise.all(Array.from(list, filePart));
    setFiles((before) => [...before, ...parts]);
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) void add(event.clipboardData.files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    void add(event.dataTransfer.files);
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
      {files.length > 0 && (
        <ul className="attachments" aria-label="Attached files">
          {files.map((file, index) => (
            <li key={index}>
              {file.mediaType.startsWith('image/') ? <img src={file.url} alt="" /> : <Icon name="attach" />}
              <span>{file.filename ?? file.mediaType}</span>
              <button
                type="button"
                className="button"
                data-look="quiet"
                data-square=""
                aria-label={`Remove ${file.filename ?? 'the file'}`}
                onClick={() => setFiles(files.filter((other) => other !== file))}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
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
          onChange={(event) => void add(event.target.files).then(() => (event.target.value = ''))}
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

/** A file of the person's device, as a part of a message. */
function filePart(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({
        type: 'file',
        mediaType: file.type || 'application/octet-stream',
        filename: file.name,
        url: String(reader.result),
      });
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}
