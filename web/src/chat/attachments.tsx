/** The files of a message that is being written. Small ones travel inside of it; large ones are sent ahead. */
import type { UploadedFile, UploadOptions } from '@adk-prism/client';
import type { FileUIPart } from 'ai';
import { useEffect, useRef, useState } from 'react';
import { explain } from '../app/server';
import { useFeature } from '../features/registry';
import { Icon } from '../ui/Icon';

/** Sends a file ahead of its message. */
export type Upload = (file: File, options: UploadOptions) => Promise<UploadedFile>;

/** Bytes above which a file is sent ahead: in the message it would be a third larger, and sent again if that fails. */
const LARGE = 2 * 1024 * 1024;

type Attached = {
  key: number;
  name: string;
  /** Null while it is on its way. */
  part: FileUIPart | null;
  /** Between 0 and 1. */
  progress: number;
  failure: string;
  stop(): void;
};

export type Attachments = {
  list: readonly Attached[];
  /** The parts of the message; null while one is on its way, or has failed. */
  parts: FileUIPart[] | null;
  add(files: FileList | null): void;
  remove(one: Attached): void;
  clear(): void;
  restore(before: readonly Attached[]): void;
};

let last = 0;

export function useAttachments(upload: Upload | null): Attachments {
  const [list, setList] = useState<readonly Attached[]>([]);
  const isOffered = useFeature('uploads');
  const current = useRef(list);
  current.current = list;
  // Whoever leaves the page has not sent the message.
  useEffect(() => () => current.current.forEach((one) => one.stop()), []);

  const change = (key: number, about: Partial<Attached>) =>
    setList((before) => before.map((one) => (one.key === key ? { ...one, ...about } : one)));

  const begin = (file: File): Attached => {
    const stopping = new AbortController();
    const key = ++last;
    const onProgress = (sent: number, size: number) => change(key, { progress: sent / size });
    const sending =
      upload && isOffered && file.size > LARGE
        ? upload(file, { signal: stopping.signal, onProgress }).then(uploadedPart)
        : inlinePart(file);
    sending.then(
      (part) => change(key, { part, progress: 1 }),
      (error: unknown) => stopping.signal.aborted || change(key, { failure: explain(error) }),
    );
    const stop = () => stopping.abort();
    return { key, name: file.name, part: null, progress: 0, failure: '', stop };
  };

  return {
    list,
    parts: list.every(({ part }) => part) ? list.flatMap(({ part }) => part ?? []) : null,
    add: (files) => {
      const begun = Array.from(files ?? [], begin);
      setList((before) => [...before, ...begun]);
    },
    remove: (one) => {
      one.stop();
      setList((before) => before.filter(({ key }) => key !== one.key));
    },
    clear: () => setList([]),
    restore: setList,
  };
}

export function AttachmentList({ attachments }: { attachments: Attachments }) {
  if (attachments.list.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached files">
      {attachments.list.map((one) => (
        <li key={one.key} data-failed={one.failure ? '' : undefined}>
          {one.part?.url.startsWith('data:image/') ? <img src={one.part.url} alt="" /> : <Icon name="attach" />}
          <span>{one.name}</span>
          {one.failure ? (
            <span role="alert" data-kind="error">
              {one.failure}
            </span>
          ) : (
            !one.part && <progress value={one.progress} aria-label={`Sending ${one.name}`} />
          )}
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            aria-label={`Remove ${one.name}`}
            onClick={() => attachments.remove(one)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function uploadedPart({ url, mediaType, name }: UploadedFile): FileUIPart {
  return { type: 'file', mediaType, filename: name, url };
}

/** A file of the person's device, as a part of a message. */
function inlinePart(file: File): Promise<FileUIPart> {
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
