/** Which run of an answer the panels show, where it spans several. */
type Props = { runs: readonly string[]; run: string | null; pick(run: string): void };

export function RunPicker({ runs, run, pick }: Props) {
  if (runs.length < 2 || run === null || !runs.includes(run)) return null;
  return (
    <select className="field run-picker" aria-label="Run of this answer" title="An approval or an answer starts another run within the same message" value={run} onChange={(event) => pick(event.currentTarget.value)}>
      {runs.map((id, index) => (
        <option key={id} value={id}>
          run {index + 1} of {runs.length}
        </option>
      ))}
    </select>
  );
}
