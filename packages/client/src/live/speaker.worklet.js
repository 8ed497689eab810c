// Plays raw sound in the order it comes, and stops at once when told. Before it begins it waits for a little more than
// the first piece: the next one may be late. Its reports name the last flush that it has seen, so that the page can
// tell
// those that were on their way from those that came after.
const AHEAD = sampleRate / 10; // Samples to begin with, or the time to wait for them.
const MOST = sampleRate * 300; // Models speak faster than they are heard, but nobody listens for longer.
const REPORT = 8; // Blocks of 128 samples between two reports: some twenty a second.

registerProcessor(
  'speaker',
  class extends AudioWorkletProcessor {
    constructor() {
      super();
      this.flush(0);
      this.isPlaying = false;
      this.peak = this.blocks = 0;
      this.port.onmessage = ({ data }) =>
        typeof data === 'number' ? this.flush(data) : this.take(new Int16Array(data));
    }

    flush(count) {
      this.flushes = count;
      this.pieces = [];
      this.at = this.left = this.waited = 0;
    }

    take(piece) {
      if (this.left + piece.length > MOST) return;
      this.pieces.push(piece);
      this.left += piece.length;
    }

    process(_, [[channel]]) {
      if (this.isReady(channel.length)) this.fill(channel);
      this.report();
      return true;
    }

    isReady(length) {
      if (this.left === 0) this.isPlaying = false;
      else if (!this.isPlaying) {
        this.waited += length;
        this.isPlaying = this.left >= AHEAD || this.waited >= AHEAD;
      }
      if (this.isPlaying) this.waited = 0;
      return this.isPlaying;
    }

    fill(channel) {
      for (let i = 0; i < channel.length && this.pieces.length > 0; i++) {
        const piece = this.pieces[0];
        channel[i] = piece[this.at++] / 32768;
        this.peak = Math.max(this.peak, Math.abs(channel[i]));
        this.left -= 1;
        if (this.at < piece.length) continue;
        this.pieces.shift();
        this.at = 0;
      }
    }

    report() {
      if (++this.blocks % REPORT !== 0) return;
      this.port.postMessage({ isPlaying: this.isPlaying, level: this.peak, flushes: this.flushes });
      this.peak = 0;
    }
  },
);
