/** The microphone: asked for, heard through a worklet, and let go of. */

/** What the server takes. */
const RATE = 16_000;

/** Why there is no microphone, by the name of what the browser throws. */
const REASONS: Readonly<Record<string, string>> = {
  NotAllowedError: 'Microphone access was denied. Allow it for this page in the browser settings, then try again.',
  NotFoundError: 'No microphone was found. Connect one, then try again.',
  NotReadableError: 'The microphone cannot be read: another program may be using it.',
};

export class NoMicrophone extends Error {}

export class Microphone {
  readonly #stream: MediaStream;
  readonly #context: AudioContext;

  private constructor(stream: MediaStream, context: AudioContext) {
    this.#stream = stream;
    this.#context = context;
  }

  /** Ask for the microphone; `onLost` is called if it goes away. Throw `NoMicrophone` with the reason. */
  static async open(
    worklet: string | URL,
    onPiece: (pcm: ArrayBuffer) => void,
    onLost: () => void,
  ): Promise<Microphone> {
    if (!globalThis.isSecureContext)
      throw new NoMicrophone('Browsers allow the microphone only on https pages and localhost.');
    if (!navigator.mediaDevices) throw new NoMicrophone('This browser does not support microphone input.');
    let microphone: Microphone | undefined;
    try {
      const stream = await navigator.mediaDevices.getUserMedia({
        audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
      });
      const { context, source } = hearing(stream);
      microphone = new Microphone(stream, context);
      await context.audioWorklet.addModule(worklet);
      const node = new AudioWorkletNode(context, 'microphone', {
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: 'explicit',
      });
      node.port.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => onPiece(data);
      source.connect(node);
      await context.resume();
      stream.getAudioTracks()[0]?.addEventListener('ended', onLost);
      return microphone;
    } catch (error) {
      microphone?.close();
      const { name, message } = error as Error;
      throw new NoMicrophone(REASONS[name] ?? `The microphone cannot be used: ${message}`);
    }
  }

  /** Switched off it hears silence, and the browser shows that. */
  set isOn(isOn: boolean) {
    for (const track of this.#stream.getAudioTracks()) track.enabled = isOn;
  }

  close(): void {
    for (const track of this.#stream.getTracks()) track.stop();
    void this.#context.close();
  }
}

/** Firefox gives a microphone only to contexts of its own rate; there the worklet converts. */
function hearing(stream: MediaStream): { context: AudioContext; source: MediaStreamAudioSourceNode } {
  const context = new AudioContext({ sampleRate: RATE });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    void context.close();
    const own = new AudioContext();
    return { context: own, source: own.createMediaStreamSource(stream) };
  }
}

/** Return how loud a piece of sound is, 0 to 1. */
export function levelOf(pcm: ArrayBuffer): number {
  let peak = 0;
  for (const sample of new Int16Array(pcm)) peak = Math.max(peak, Math.abs(sample));
  return peak / 32768;
}
