/** The loudspeaker: plays raw sound of any rate as it comes, and falls silent at once. */
import { explain } from '../app/problem';
import workletUrl from '../../../packages/client/src/live/speaker.worklet.js?url';

export type Heard = { isPlaying: boolean; level: number };

/** What models speak in; made ready before the first word. */
const USUAL_RATE = 24_000;

/** Pieces that wait while the worklet loads: some seconds. */
const MOST_WAITING = 256;

export class Speaker {
  private context: AudioContext | null = null;
  private node: AudioWorkletNode | null = null;
  private waiting: ArrayBuffer[] = [];
  private rate = 0;
  /** How often it was flushed. A report from before the last time is of sound that is no longer played. */
  private flushes = 0;

  constructor(
    private readonly onHeard: (heard: Heard) => void,
    private readonly onFailed: (reason: string) => void,
  ) {
    this.prepare(USUAL_RATE);
  }

  /** Worklets, like microphones, are for secure pages only. */
  static get isPossible(): boolean {
    return isSecureContext && 'AudioWorkletNode' in globalThis;
  }

  play(pcm: ArrayBuffer, rate: number): void {
    if (rate !== this.rate) this.prepare(rate);
    if (this.node) this.node.port.postMessage(pcm, [pcm]);
    else if (this.waiting.length < MOST_WAITING) this.waiting.push(pcm);
  }

  /** Throw away what has not been heard yet. */
  flush(): void {
    this.waiting = [];
    this.flushes += 1;
    this.node?.port.postMessage(this.flushes);
    this.onHeard({ isPlaying: false, level: 0 });
  }

  /** Browsers keep a page silent until the person does something with it. */
  wake(): void {
    if (this.context?.state === 'suspended') void this.context.resume();
  }

  close(): void {
    this.rate = 0;
    this.waiting = [];
    this.node = null;
    void this.context?.close();
    this.context = null;
  }

  private prepare(rate: number): void {
    this.close();
    this.rate = rate;
    if (!Speaker.isPossible) return;
    const context = (this.context = new AudioContext({ sampleRate: rate }));
    this.load(context).catch((error: unknown) => context === this.context && this.onFailed(`The agent cannot be heard: ${explain(error)}`));
  }

  private async load(context: AudioContext): Promise<void> {
    await context.audioWorklet.addModule(workletUrl);
    if (context !== this.context) return; // Closed meanwhile.
    const node = new AudioWorkletNode(context, 'speaker', { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = ({ data }: MessageEvent<Heard & { flushes: number }>) => node === this.node && data.flushes === this.flushes && this.onHeard(data);
    node.connect(context.destination);
    this.node = node;
    node.port.postMessage(this.flushes);
    for (const pcm of this.waiting.splice(0)) node.port.postMessage(pcm, [pcm]);
    this.wake();
  }
}
