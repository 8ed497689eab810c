/** Answers that the server did not take, until another one is given. */

/** Why an answer was not taken, and what it was. */
export type RejectedAnswer = { reason: string; given: unknown };

export class RejectedAnswers {
  private found: ReadonlyMap<string, RejectedAnswer> = new Map();

  constructor(private readonly onChange: () => void) {}

  /** Return why the last answer to an approval or a request was not taken; null where it was, or there is none. */
  of(id: string): RejectedAnswer | null {
    return this.found.get(id) ?? null;
  }

  add(id: string, refusal: RejectedAnswer): void {
    this.found = new Map(this.found).set(id, refusal);
    this.onChange();
  }

  /** The conversation has gone on. */
  forgetAll(): void {
    if (this.found.size === 0) return;
    this.found = new Map();
    this.onChange();
  }

  forget(id: string): void {
    if (!this.found.has(id)) return;
    this.found = new Map([...this.found].filter(([known]) => known !== id));
    this.onChange();
  }
}
