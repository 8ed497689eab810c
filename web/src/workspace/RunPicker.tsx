/** Which run of an answer, or of a recorded session, the panels show, where there are several. */
import * as words from '../words/workspace';
type Props = { what?: 'answer' | 'session'; runs: readonly string[]; run: string | null; pick(run: string): void };

const WHY = {
  answer: words.approvalOrAnAnswerStarts,
  session: words.eachMessageOfThisSession,
};

export function RunPicker({ what = 'answer', runs, run, pick }: Props) {
  if (runs.length < 2 || run === null || !runs.includes(run)) return null;
  return (
    <select className="field run-picker" aria-label={words.runOfThis(what)} title={WHY[what]} value={run} onChange={(event) => pick(event.currentTarget.value)}>
      {runs.map((id, index) => (
        <option key={id} value={id}>
          {words.runWord} {index + 1} {words.ofWord} {runs.length}
        </option>
      ))}
    </select>
  );
}
