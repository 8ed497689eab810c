/** The cases of a result: what each metric says, the run, and how it differs from the one that was expected. */
import { linkTo } from '../app/route';
import { shorten } from '../ui/Id';
import { KindChip } from '../ui/Kind';
import { scoreWords, VERDICTS, type Case, type Metric } from './evals';
import * as words from '../words/evals';

export function CaseTable({ cases }: { cases: readonly Case[] }) {
  return (
    <div className="table" role="region" aria-label={words.cases} tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">{words.verdict}</th>
            <th scope="col">{words.caseLabel}</th>
            <th scope="col">{words.metrics}</th>
            <th scope="col">{words.run}</th>
            <th scope="col">{words.compare}</th>
          </tr>
        </thead>
        <tbody>
          {cases.map((each) => (
            <Row key={each.id} evaluated={each} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ evaluated }: { evaluated: Case }) {
  const { kind, icon, word } = VERDICTS[evaluated.verdict];
  const last = evaluated.runs.at(-1);
  return (
    <tr>
      <td>
        <KindChip kind={kind} icon={icon}>
          {word}
        </KindChip>
      </td>
      <td title={evaluated.id}>{evaluated.text || shorten(evaluated.id, 24)}</td>
      <td>
        {evaluated.error && <span className="eval-error">{evaluated.error}</span>}
        <ul className="eval-metrics">
          {evaluated.metrics.map((metric) => (
            <Score key={metric.name} metric={metric} />
          ))}
        </ul>
      </td>
      <td>
        {evaluated.runs.map((run) => (
          <a key={run} href={linkTo({ kind: 'run', run })}>
            {shorten(run)}
          </a>
        ))}
        {!last && <span className="quiet">{words.notInTheLog}</span>}
      </td>
      <td>{last && evaluated.expectedRun ? <a href={linkTo({ kind: 'compare', a: evaluated.expectedRun, b: last })}>{words.expectedRun}</a> : '–'}</td>
    </tr>
  );
}

function Score({ metric }: { metric: Metric }) {
  return (
    <li data-verdict={metric.verdict} title={metric.reason || undefined}>
      {metric.name} <strong>{scoreWords(metric)}</strong>
      {metric.verdict === 'failed' && ' ✗'}
      {metric.verdict === 'not evaluated' && ` ${words.notEvaluatedWhy(metric.reason ? `: ${metric.reason}` : '')}`}
    </li>
  );
}
