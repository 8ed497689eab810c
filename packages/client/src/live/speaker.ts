/** The loudspeaker: plays raw sound of any rate as it comes, and falls silent at once. */

/** What models speak in; made ready before the first word. */
const USUAL_RATE = 24_000;

/** Pieces that wait while the worklet loads: some seconds. */
const MOST_WAITING = 256;

export class Speaker {
  readonly #worklet: string | URL;
  readonly #onHeard: (isPlaying: boolean, level: number) => void;
  readonly #onFailed: (reason: string) => void;
  #context: AudioContext | null = null;
  #node: AudioWorkletNode | null = null;
  #waiting: ArrayBuffer[] = [];
  #rate = 0;
  /** How often it was flushed. A report from before the last time is of sound that is no longer played. */
  #flushes = 0;

  constructor(
    worklet: string | URL,
    onHeard: (isPlaying: boolean, level: number) => void,
    onFailed: (reason: string) => void,
  ) {
    this.#worklet = worklet;
    this.#onHeard = onHeard;
    this.#onFailed = onFailed;
  }

  /** Worklets, like microphones, are for secure pages only: elsewhere the agent is read, not heard. */
  static get isPossible(): boolean {
    return globalThis.isSecureContext === true && 'AudioWorkletNode' in globalThis;
  }

  /** Make ready to play. Browsers keep a page silent until the person does something with it. */
  wake(): void {
    if (this.#rate === 0) this.#prepare(USUAL_RATE);
    if (this.#context?.state === 'suspended') void this.#context.resume();
  }

  play(pcm: ArrayBuffer, rate: number): void {
    if (rate !== this.#rate) this.#prepare(rate);
    if (this.#node) this.#node.port.postMessage(pcm, [pcm]);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push(pcm);
  }

  /** Throw away what has not been heard yet. */
  flush(): void {
    this.#waiting = [];
    this.#flushes += 1;
    this.#node?.port.postMessage(this.#flushes);
    this.#onHeard(false, 0);
  }

  close(): void {
    this.#rate = 0;
    this.#waiting = [];
    this.#node = null;
    void this.#context?.close();
    this.#context = null;
  }

  #prepare(rate: number): void {
    this.close();
    this.#rate = rate;
    if (!Speaker.isPossible) return;
    const context = (this.#context = new AudioContext({ sampleRate: rate }));
    this.#load(context).catch((error: unknown) => {
      if (context === this.#context)
        this.#onFailed(`The agent cannot be heard: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  async #load(context: AudioContext): Promise<void> {
    await context.audioWorklet.addModule(this.#worklet);
    if (context !== this.#context) return; // Closed meanwhile.
    const node = new AudioWorkletNode(context, 'speaker', { numberOfInputs: 0, outputChannelCount: [1] });
    node.port.onmessage = ({ data }: MessageEvent<{ isPlaying: boolean; level: number; flushes: number }>) => {
      if (node === this.#node && data.flushes === this.#flushes) this.#onHeard(data.isPlaying, data.level);
    };
    node.connect(context.destination);
    this.#node = node;
    node.port.postMessage(this.#flushes);
    for (const pcm of this.#waiting.splice(0)) node.port.postMessage(pcm, [pcm]);
    this.wake();
  }
}
