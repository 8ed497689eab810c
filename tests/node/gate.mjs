// Lets a response body through up to a limit, in bytes or in SSE chunks, exactly.
//
// Chunks are the events with data: comments and lone ids do not count.

export class Gate {
  #bytes;
  #chunks;
  #block = '';

  constructor({ bytes = Infinity, chunks = Infinity } = {}) {
    this.#bytes = bytes;
    this.#chunks = chunks;
  }

  get isShut() { return this.#bytes <= 0 || this.#chunks <= 0; }

  open() { [this.#bytes, this.#chunks] = [Infinity, Infinity]; }

  /** Return the part of `piece` that may pass; the caller offers the rest again. */
  admit(piece) {
    let length = 0;
    while (length < piece.length && !this.isShut) this.#count(piece[length++]);
    return piece.subarray(0, length);
  }

  #count(byte) {
    this.#bytes -= 1;
    if (byte !== 13) this.#block += String.fromCharCode(byte); // CRLF ends lines as LF does
    if (!this.#block.endsWith('\n\n')) return;
    if (/^data:/m.test(this.#block)) this.#chunks -= 1;
    this.#block = '';
  }
}
