/** Which run of an answer, or of a recorded session, the panels show, where there are several. */
type Props = { what?: 'answer' | 'session'; runs: readonly string[]; run: string | null; pick(run: string): void };

const WHY = {
  answer: 'An approval or an answer starts another run within the same message',
  session: 'Each message of this session is a run of its own',
};

export function RunPicker({ what = 'answer', runs, run, pick }: Props) {
  if (runs.length < 2 || run === null || !runs.includes(run)) return null;
  return (
    <select className="field run-picker" aria-label={`Run of this ${what}`} title={WHY[what]} value={run} onChange={(event) => pick(event.currentTarget.value)}>
      {runs.map((id, index) => (
        <option key={id} value={id}>
          run {index + 1} of {runs.length}
        </option>
      ))}
    </select>
  );
}
