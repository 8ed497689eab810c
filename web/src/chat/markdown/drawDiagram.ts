/**
 * Has diagrams drawn in a frame of their own (`diagramFrame.ts`). The frame is sandboxed and has no origin: what a
 * diagram or mermaid does there reaches neither the page nor the server. Loaded with the first diagram of a complete
 * answer.
 */
import frameUrl from 'virtual:diagram-frame';

/** Milliseconds until the frame, which is large, has to be there; and until a diagram has to be drawn. */
const LOADING = 30_000;
const DRAWING = 15_000;
/** Characters of a diagram that is drawn within a second, and of a picture that a page can show. */
const LONGEST_SOURCE = 20_000;
const LONGEST_PICTURE = 4_000_000;

/** What the frame answers: that it is there, then the picture, or null where the source is no diagram. */
export type FrameAnswer = { kind: 'received' } | { kind: 'drawn'; picture: string | null };

let frame: Promise<HTMLIFrameElement> | null = null;
let before: Promise<unknown> = Promise.resolve();

/** Draw a diagram, one after the other; null if its source is none. Throws if the frame cannot be loaded. */
export function drawDiagram(source: string): Promise<string | null> {
  if (source.length > LONGEST_SOURCE) return Promise.resolve(null);
  const drawn = before.then(() => draw(source));
  before = drawn.catch(() => undefined);
  return drawn;
}

async function draw(source: string): Promise<string | null> {
  frame ??= openFrame();
  const { contentWindow } = await frame;
  const { port1, port2 } = new MessageChannel();
  try {
    return await new Promise((resolve, reject) => {
      let timer = setTimeout(() => reject(new Error('The frame for diagrams was not loaded.')), LOADING);
      port1.onmessage = ({ data }: MessageEvent<FrameAnswer>) => {
        clearTimeout(timer);
        if (data.kind === 'drawn') return resolve(isPicture(data.picture) ? data.picture : null);
        timer = setTimeout(() => {
          void closeFrame(); // It is still at work: the next diagram gets a new one.
          resolve(null);
        }, DRAWING);
      };
      contentWindow?.postMessage(source, '*', [port2]);
    });
  } catch (error) {
    await closeFrame();
    throw error;
  } finally {
    port1.close();
  }
}

function isPicture(picture: unknown): picture is string {
  return typeof picture === 'string' && picture.startsWith('<svg') && picture.length <= LONGEST_PICTURE;
}

function openFrame(): Promise<HTMLIFrameElement> {
  const opened = document.createElement('iframe');
  opened.className = 'diagram-frame';
  opened.title = 'Drawing diagrams';
  opened.ariaHidden = 'true';
  opened.tabIndex = -1;
  opened.sandbox.add('allow-scripts');
  opened.src = frameUrl;
  return new Promise((resolve) => {
    opened.onload = () => resolve(opened);
    document.body.append(opened);
  });
}

async function closeFrame(): Promise<void> {
  const closed = frame;
  frame = null;
  (await closed)?.remove();
}
