/**
 * The last message that a page has shown of each chat. A list that lacks it is a branch, which the request names; a
 * list that only lacks what another tab added is not, and the server refuses it.
 */

/** Chats of which it is known: those that a person goes back to. Of a forgotten one, a branch is refused once. */
const MOST = 100;

export class LastShown {
  readonly #ids = new Map<string, string>();

  get(chatId: string): string | undefined {
    return this.#ids.get(chatId);
  }

  /** Note the message that a chat ends with; nothing for a chat that has none. */
  note(chatId: string, messageId: string | undefined): void {
    if (!messageId) return;
    this.#ids.delete(chatId);
    this.#ids.set(chatId, messageId);
    const oldest = this.#ids.keys().next();
    if (this.#ids.size > MOST && !oldest.done) this.#ids.delete(oldest.value);
  }
}

/** What was loaded through a connection, for the transports that were made of the same object. */
const loaded = new WeakMap<object, LastShown>();

export function loadedBy(connection: object): LastShown {
  const known = loaded.get(connection) ?? new LastShown();
  loaded.set(connection, known);
  return known;
}
