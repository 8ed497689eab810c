/** Raw sound that came with messages: it is in no message, so it is kept here, as much as is sensible. */
import type { PrismDataParts } from '@adk-prism/client/ai';
import { address, path, call, problemOf } from '../app/server';

type Pcm = PrismDataParts['pcm'];

const MOST_BYTES = 64 * 1024 * 1024; // Twenty minutes at 24 kHz; more is a recording, not an answer.

export class AudioCache {
  private readonly pieces = new Map<string, Pcm[]>();
  private bytes = 0;

  add(message: string, piece: Pcm): void {
    if (this.bytes > MOST_BYTES) return;
    this.bytes += piece.content.length;
    const known = this.pieces.get(message);
    if (known) known.push(piece);
    else this.pieces.set(message, [piece]);
  }

  of(message: string): readonly Pcm[] {
    return this.pieces.get(message) ?? [];
  }
}

/** Join pieces of raw sound into a WAV file. Pieces of another format than the first are left out. */
export function wav(pieces: readonly Pcm[]): Blob {
  const first = pieces[0];
  const { sampleRate = 24_000, channels = 1, bitDepth = 16 } = first ?? {};
  const data = pieces
    .filter((piece) => piece.sampleRate === sampleRate && piece.channels === channels && piece.bitDepth === bitDepth)
    .map((piece) => bytesOf(piece.content));
  const length = data.reduce((sum, piece) => sum + piece.length, 0);
  return new Blob([header(length, sampleRate, channels, bitDepth), ...data], { type: 'audio/wav' });
}

function header(length: number, sampleRate: number, channels: number, bitDepth: number): ArrayBuffer {
  const buffer = new ArrayBuffer(44);
  const view = new DataView(buffer);
  const frame = (channels * bitDepth) / 8;
  const text = (at: number, word: string) => {
    for (let i = 0; i < word.length; i += 1) view.setUint8(at + i, word.charCodeAt(i));
  };
  text(0, 'RIFF');
  view.setUint32(4, 36 + length, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * frame, true);
  view.setUint16(32, frame, true);
  view.setUint16(34, bitDepth, true);
  text(36, 'data');
  view.setUint32(40, length, true);
  return buffer;
}

/** Read base64 in either alphabet. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

type Chunk = { type: string; messageId?: string; data?: unknown };

/**
 * Return the raw sound of a message, read again from the stream of its run: as far as its end, for the run may go on.
 * `message` is its id, or which answer of the run it is, counted from 0.
 */
export async function fetchAudio(run: string, message: string | number): Promise<PrismDataParts['pcm'][]> {
  const leaving = new AbortController();
  const response = await call(address(`${path('api', 'runs', run, 'stream')}?as=ai-sdk&dialect=7`), {
    signal: leaving.signal,
  });
  if (!response.ok || !response.body) throw await problemOf(response);
  const found: PrismDataParts['pcm'][] = [];
  let isIts = false;
  let begun = 0;
  for await (const chunk of chunksOf(response.body)) {
    if (chunk.type === 'start') isIts = chunk.messageId === message || begun++ === message;
    else if (isIts && chunk.type === 'data-pcm') found.push(chunk.data as PrismDataParts['pcm']);
    else if (isIts && chunk.type === 'finish') break;
  }
  leaving.abort();
  return found;
}

async function* chunksOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Chunk> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (/^data: ?\{/.test(line)) yield JSON.parse(line.slice(5)) as Chunk;
  }
}
