/**
 * Large files: sent once, in pieces, and referred to in messages. Speaks tus 1.0.0, as far as this needs it; any other
 * client of tus can be used in its place.
 */
import { address, delay, isAway, request, type Connection } from './connection.ts';
import { PrismError } from './errors.ts';

export type UploadOptions = {
  /** Default: the name of a `File`. */
  name?: string;
  /** Default: the file's own. */
  mediaType?: string;
  /** The chat in which the file is saved as an artifact at once, before a message refers to it. */
  chatId?: string;
  /** Called with the bytes that have been sent, from the first one that was not sent before. */
  onProgress?: (sent: number, size: number) => void;
  /** Stops, and removes what was sent. */
  signal?: AbortSignal;
  /** The id of an upload that was begun before, such as on an earlier visit: it is gone on with. */
  resume?: string;
  /** Called with the id, for `resume`. */
  onBegun?: (id: string) => void;
  /** Bytes of one request. */
  pieceSize?: number;
};

/** A file that is on the server. A file part of a message has its `url`, `mediaType`, and `name` as `filename`. */
export type UploadedFile = { id: string; url: string; name: string; mediaType: string; size: number };

const TUS = { 'tus-resumable': '1.0.0' };
const PIECE = 'application/offset+octet-stream';

/** Bytes: some seconds of a usual connection, which is what a cut costs. */
const PIECE_SIZE = 4 * 1024 * 1024;

/** Milliseconds before each further attempt, as long as none gets on. */
const PAUSES = [300, 1000, 3000, 10000];

/** Send a file. Throw `PrismError` for a refusal, `ConnectionError` where nobody answers for long. */
export async function uploadFile(
  connection: Connection,
  file: Blob,
  options: UploadOptions = {},
): Promise<UploadedFile> {
  const { signal, resume } = options;
  const name = options.name ?? (file instanceof File ? file.name : 'file');
  const mediaType = options.mediaType || file.type || 'application/octet-stream';
  const id = resume ?? (await begun(connection, file, { ...options, name, mediaType }));
  options.onBegun?.(id);
  const url = address(connection, ['api', 'uploads', connection.app, id]);
  try {
    await sendRest(connection, url, file, options, resume === undefined ? 0 : null);
  } catch (error) {
    // The server removes it sooner or later; who has stopped need not know whether it was sooner.
    if (signal?.aborted) await request(connection, url, { method: 'DELETE', headers: TUS }).catch(() => undefined);
    throw error;
  }
  return { id, url, name, mediaType, size: file.size };
}

async function begun(
  connection: Connection,
  file: Blob,
  { name, mediaType, chatId, signal }: UploadOptions,
): Promise<string> {
  const known = { filename: name, filetype: mediaType, session: chatId, userId: connection.userId };
  const metadata = Object.entries(known)
    .filter(([, value]) => value)
    .map(([key, value]) => `${key} ${base64(String(value))}`);
  const headers = { ...TUS, 'upload-length': String(file.size), 'upload-metadata': metadata.join(',') };
  const url = address(connection, ['api', 'uploads', connection.app]);
  const response = await request(connection, url, { method: 'POST', headers, ...(signal && { signal }) });
  // The server's own address may be another one than this client reaches it at.
  return response.headers.get('location')?.split('/').at(-1) ?? '';
}

/** Send what the server does not have; `known` is how much that is, null: ask it. */
async function sendRest(
  connection: Connection,
  url: string,
  file: Blob,
  { onProgress, signal, pieceSize = PIECE_SIZE }: UploadOptions,
  known: number | null,
): Promise<void> {
  let offset = known;
  let failures = 0;
  while (offset === null || offset < file.size) {
    try {
      offset ??= await offsetOf(connection, url, signal);
      onProgress?.(offset, file.size);
      if (offset >= file.size) return;
      const headers = { ...TUS, 'upload-offset': String(offset), 'content-type': PIECE };
      const body = file.slice(offset, offset + pieceSize);
      const init = { method: 'PATCH', headers, body, ...(signal && { signal }) };
      offset = Number((await request(connection, url, init)).headers.get('upload-offset'));
      failures = 0;
    } catch (error) {
      const pause = PAUSES[failures++];
      if (signal?.aborted || pause === undefined || !isWorthAnother(error)) throw error;
      await delay(pause, signal);
      offset = null;
    }
  }
  onProgress?.(file.size, file.size);
}

async function offsetOf(connection: Connection, url: string, signal?: AbortSignal): Promise<number> {
  const response = await request(connection, url, { method: 'HEAD', headers: TUS, ...(signal && { signal }) });
  return Number(response.headers.get('upload-offset'));
}

/** Tell whether asking for the offset and sending again can help: another writer, or a lost answer. */
function isWorthAnother(error: unknown): boolean {
  return isAway(error) || (error instanceof PrismError && [408, 409, 423, 429].includes(error.status));
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
