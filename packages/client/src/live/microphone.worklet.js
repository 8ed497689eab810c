// Hands on what the microphone hears, as the server takes it: 16 kHz, one channel, 16 bits, 20 ms at a time.
const RATE = 16_000;
const PIECE = RATE / 50;

registerProcessor(
  'microphone',
  class extends AudioWorkletProcessor {
    // Not every browser gives a context of the wanted rate to a microphone: then each sample is the mean of some.
    step = sampleRate / RATE;
    phase = 0;
    sum = 0;
    count = 0;
    piece = new Int16Array(PIECE);
    filled = 0;

    process([[channel]]) {
      for (const sample of channel ?? []) {
        this.sum += sample;
        this.count += 1;
        this.phase += 1;
        if (this.phase < this.step) continue;
        this.take(this.sum / this.count);
        this.phase -= this.step;
        this.sum = this.count = 0;
      }
      return true;
    }

    take(sample) {
      this.piece[this.filled++] = Math.max(-1, Math.min(1, sample)) * 32767;
      if (this.filled < PIECE) return;
      this.port.postMessage(this.piece.buffer, [this.piece.buffer]);
      this.piece = new Int16Array(PIECE);
      this.filled = 0;
    }
  },
);
