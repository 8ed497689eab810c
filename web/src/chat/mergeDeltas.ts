/**
 * Gathers what comes faster than pictures: pieces of one text that arrive within a frame become one piece. The AI SDK copies
 * a message for every piece, so of a long answer, a copy per frame is a copy that somebody sees.
 */
import type { UIMessageChunk } from 'ai';

/** Milliseconds; the first piece after a silence goes on at once. */
const FRAME = 16;

/** The chunks that are pieces: what they belong to, and what they add. */
const PIECES: Readonly<Record<string, { of: string; adds: string }>> = {
  'text-delta': { of: 'id', adds: 'delta' },
  'reasoning-delta': { of: 'id', adds: 'delta' },
  'tool-input-delta': { of: 'toolCallId', adds: 'inputTextDelta' },
};

type Fields = Record<string, unknown>;

/** Join two chunks to one that says the same; null where each has to be said by itself. */
export function joined(before: UIMessageChunk, after: UIMessageChunk): UIMessageChunk | null {
  const piece = PIECES[after.type];
  const [old, now] = [before as Fields, after as Fields];
  if (!piece || before.type !== after.type || old[piece.of] !== now[piece.of]) return null;
  if (old.providerMetadata !== undefined || now.providerMetadata !== undefined) return null;
  return { ...old, [piece.adds]: `${String(old[piece.adds])}${String(now[piece.adds])}` } as UIMessageChunk;
}

/** A stream that says the same in no more pieces than there are frames. */
export function gather(): TransformStream<UIMessageChunk, UIMessageChunk> {
  let held: UIMessageChunk | null = null;
  let frame: ReturnType<typeof setTimeout> | null = null;
  const letGo = (controller: TransformStreamDefaultController<UIMessageChunk>) => {
    if (held) controller.enqueue(held);
    held = null;
  };
  const wait = (controller: TransformStreamDefaultController<UIMessageChunk>) => {
    frame = setTimeout(() => {
      frame = null;
      if (!held) return;
      try {
        letGo(controller);
      } catch {
        return; // Whoever read has left, or the line broke: there is nobody to tell.
      }
      wait(controller);
    }, FRAME);
  };
  return new TransformStream({
    transform(chunk, controller) {
      const both = held && joined(held, chunk);
      if (both) held = both;
      else {
        letGo(controller);
        if (PIECES[chunk.type]) held = chunk;
        else controller.enqueue(chunk);
      }
      if (frame === null && held) {
        letGo(controller);
        wait(controller);
      }
    },
    flush(controller) {
      if (frame !== null) clearTimeout(frame);
      letGo(controller);
    },
  });
}
