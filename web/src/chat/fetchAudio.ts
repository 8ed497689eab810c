/** The raw sound of a message, read again from the stream of its run: as far as its end, for the run may go on. */
import { address, path } from '../app/serverUrl';
import { call } from '../app/identity';
import { problemOf } from '../app/problem';
import type { PrismDataParts } from '@adk-prism/client/ai';

type Chunk = { type: string; messageId?: string; data?: unknown };

export async function fetchAudio(run: string, message: string): Promise<PrismDataParts['pcm'][]> {
  const leaving = new AbortController();
  const response = await call(address(`${path('api', 'runs', run, 'stream')}?as=ai-sdk&dialect=7`), { signal: leaving.signal });
  if (!response.ok || !response.body) throw await problemOf(response);
  const found: PrismDataParts['pcm'][] = [];
  let isIts = false;
  for await (const chunk of chunksOf(response.body)) {
    if (chunk.type === 'start') isIts = chunk.messageId === message;
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
