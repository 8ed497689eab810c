// Turns of the event loop, to wait for the SDK's own queues without a clock.

/** Enough for a chat to show what has arrived, or to post again by itself, with room to spare. */
export const QUIET_TURNS = 10;

export const turn = () => new Promise(resolve => { setImmediate(resolve); });

export async function quiet() {
  for (let count = 0; count < QUIET_TURNS; count += 1) await turn();
}
