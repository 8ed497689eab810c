/** What was typed to run something again, and the run that came of it: in memory, so that nothing is lost by looking elsewhere. */

/** Typed texts by the name of their field. */
type Typed = Readonly<Record<string, string>>;

export type Draft = {
  typed: Typed /** The agent whose instruction is edited. */;
  agent: string /** The new run. */;
  run: string;
};

const NOTHING: Draft = { typed: {}, agent: '', run: '' };

/** So many are kept; then the one that was touched longest ago is forgotten. */
const MOST = 50;

const drafts = new Map<string, Draft>();

/** Return the draft of a run and step. */
export function draftOf(key: string): Draft {
  return drafts.get(key) ?? NOTHING;
}

export function keepDraft(key: string, changed: Partial<Draft>): void {
  const draft = { ...draftOf(key), ...changed };
  drafts.delete(key);
  drafts.set(key, draft);
  if (drafts.size > MOST) drafts.delete(drafts.keys().next().value!);
}
