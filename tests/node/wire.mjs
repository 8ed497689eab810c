// The network as a chat sees it: a fetch that records every exchange, refuses more than a
// bounded number, and can cut or hold the next response at an exact place.
import { Gate } from './gate.mjs';
import { quiet } from './turns.mjs';

export class Wire {
  requests = [];
  /** Bodies that are being read. */
  open = 0;
  #limit;
  #deadline;
  #fault = null;
  #hold = null;
  #lost = null;

  /** `deadline` is an AbortSignal that ends every exchange. */
  constructor({ limit, deadline }) {
    this.#limit = limit;
    this.#deadline = deadline;
  }

  /**
   * Break the next streamed response at `at` ({bytes} or {chunks}): `cut` fails it as a browser
   * does when the connection drops; `hold` delivers nothing more until `release`.
   */
  breakNext(kind, at) {
    const { promise, resolve } = Promise.withResolvers();
    this.#fault = { kind, gate: new Gate(at), reached: promise, reach: resolve };
    return promise;
  }

  /** Let the next request not arrive: `offline`, or a status with which something before the server refuses it. */
  loseNext(why) { this.#lost = why; }

  get isHolding() { return this.#hold !== null; }

  /** Let a held response go on; nothing happens when none is held. */
  release() {
    this.#hold?.resolve();
    this.#hold = null;
  }

  /** Let a held response break off. */
  drop() {
    this.#hold?.reject(new TypeError('network error'));
    this.#hold = null;
  }

  fetch = async (url, init = {}) => {
    if (this.requests.length >= this.#limit) {
      throw new Error(`more than ${this.#limit} requests: the client posts again and again`);
    }
    const record = recordOf(url, init);
    this.requests.push(record);
    const lost = this.#lost;
    this.#lost = null;
    if (lost === 'offline') throw new TypeError('fetch failed');
    if (lost !== null) {
      record.status = lost;
      return new Response('The server is not available.', { status: lost });
    }
    const signals = [init.signal, this.#deadline].filter(Boolean);
    const signal = AbortSignal.any(signals);
    const response = await fetch(url, { ...init, signal });
    record.status = response.status;
    record.responseHeaders = Object.fromEntries(response.headers);
    if (response.body === null) return response;
    const { status, headers } = response;
    return new Response(this.#pass(response.body, record, signal), { status, headers });
  };

  #pass(body, record, signal) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const fault = record.responseHeaders['content-type']?.startsWith('text/event-stream')
      ? this.#takeFault() : null;
    const gate = fault?.gate ?? new Gate();
    let left = new Uint8Array();
    const close = () => { this.open -= 1; record.text += decoder.decode(); };
    this.open += 1;
    return new ReadableStream({
      pull: async controller => {
        try {
          if (gate.isShut) await this.#endOfGate(fault, reader, signal);
          if (left.length === 0) {
            const { done, value } = await reader.read();
            if (done) { close(); controller.close(); return; }
            left = value;
          }
          const piece = gate.admit(left);
          left = left.subarray(piece.length);
          record.text += decoder.decode(piece, { stream: true });
          controller.enqueue(piece);
        } catch (error) {
          close();
          controller.error(error);
        }
      },
      cancel: async reason => { close(); await reader.cancel(reason); },
    }, { highWaterMark: 0 });
  }

  #takeFault() {
    const fault = this.#fault;
    this.#fault = null;
    return fault;
  }

  async #endOfGate({ kind, gate, reach }, reader, signal) {
    if (kind === 'cut') {
      reach();
      await reader.cancel();
      await quiet(); // an error overtakes what the SDK has yet to show
      throw new TypeError('network error'); // what browsers say; the SDK reads the text
    }
    this.#hold = Promise.withResolvers();
    const stopped = new Promise(resolve => signal.addEventListener('abort', resolve));
    reach();
    await Promise.race([this.#hold.promise, stopped]);
    this.release();
    signal.throwIfAborted();
    gate.open();
  }
}

function recordOf(url, { method = 'GET', headers, body }) {
  return {
    method,
    url: String(url),
    headers: Object.fromEntries(new Headers(headers)),
    body: body === undefined ? null : JSON.parse(body),
    status: null,
    responseHeaders: {},
    text: '',
  };
}
