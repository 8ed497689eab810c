/** Answers that the server did not take, until another one is given. */

/** Why an answer was not taken, and what it was. */
export type Refusal = { reason: string; given: unknown };

export class Refusals {
  private found: ReadonlyMap<string, Refusal> = new Map();

  constructor(private readonly onChange: () => void) {}

  /** Return why the last answer to an approval or a request was not taken; null where it was, or there is none. */
  of(id: string): Refusal | null {
    return this.found.get(id) ?? null;
  }

  add(id: string, refusal: Refusal): void {
    this.found = new Map(this.found).set(id, refusal);
    this.onChange();
  }

  forget(id: string): void {
    if (!this.found.has(id)) return;
    this.found = new Map([...this.found].filter(([known]) => known !== id));
    this.onChange();
  }
}
