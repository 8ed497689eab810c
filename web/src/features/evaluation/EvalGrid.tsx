/** The cases of a set, and how each did in the newest evaluations. A cell leads to what differs. */
import { useServerData } from '../../app/query';
import { linkTo } from '../../app/route';
import { explain, getJson, path } from '../../app/server';
import { Time } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { VERDICTS, type Result } from './EvalsPage';
import {
  cellBefore,
  changeOf,
  rateWords,
  rounded,
  scoreOf,
  whyNot,
  type Cell,
  type Grid,
  type GridCase,
  type TrialCell,
  type Trials,
} from './grid';
import { costWords, duration, number } from '../../ui/format';

/** Load the grid of a set. `changed` is the newest result: with each one it is loaded again. */
export function useGrid(app: string, set: string, changed: string, enabled: boolean) {
  const load = (signal: AbortSignal) =>
    getJson<Grid>(`${path('api', 'evals', app, 'grid')}?${new URLSearchParams({ set })}`, signal);
  return useServerData(['eval grid', app, set, changed], load, { keepPrevious: true, enabled });
}

export function EvalGrid({ set, loaded: { data, error } }: { set: string; loaded: ReturnType<typeof useGrid> }) {
  if (error) return <p role="alert">{explain(error)}</p>;
  if (!data) return <div className="skeleton" />;
  return (
    <>
      <Missing words={data.missing} />
      <div className="table" role="region" aria-label={`Cases of ${set}`} tabIndex={0}>
        <table className="recent eval-grid">
          <thead>
            <tr>
              <th scope="col">Case</th>
              {data.results.map((result) => (
                <Head key={result.id} result={result} />
              ))}
              {data.results.length === 0 && <th scope="col">Not evaluated yet</th>}
            </tr>
          </thead>
          <tbody>
            {data.cases.map((row) => (
              <Row key={row.id} row={row} results={data.results} />
            ))}
          </tbody>
        </table>
      </div>
      {data.trials.map((tried) => (
        <TrialTable key={tried.time} tried={tried} cases={data.cases} />
      ))}
    </>
  );
}

/** How often each case passed in each column of `adk-prism eval --trials`. */
function TrialTable({ tried: { time, cells }, cases }: { tried: Trials; cases: readonly GridCase[] }) {
  const columns = [...new Set(cells.map(({ column }) => column))];
  const subjects = [...new Set(cells.map(({ subject }) => subject))];
  return (
    <div className="table" role="region" aria-label="Trials" tabIndex={0}>
      <table className="recent eval-grid">
        <caption>
          Trials, <Time at={time} />: how often each case passed, and between which rates the true one likely is
        </caption>
        <thead>
          <tr>
            {['Case', ...columns].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {subjects.map((subject) => (
            <tr key={subject}>
              <th scope="row">{cases.find(({ id }) => id === subject)?.text || subject}</th>
              {columns.map((column) => (
                <td key={column}>
                  <Tried cell={cells.find((each) => each.subject === subject && each.column === column)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Tried({ cell }: { cell: TrialCell | undefined }) {
  if (!cell) return <span className="quiet">–</span>;
  const about = [costWords(cell.cost ?? undefined), cell.seconds === null ? '' : duration(cell.seconds)];
  return (
    <>
      <span className="eval-cell" data-kind={cell.passed === cell.trials ? 'state' : 'error'} title={cell.stopped}>
        {rateWords(cell)}
      </span>{' '}
      <span className="quiet">{about.filter(Boolean).join(' · ')}</span>
    </>
  );
}

/** What is missing to evaluate, before it is tried. */
export function Missing({ words }: { words: readonly string[] }) {
  if (!words.length) return null;
  return (
    <div className="notice" data-kind="approval" role="note" aria-label="What is missing to evaluate">
      <Icon name="neutral" />
      <ul>
        {words.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}

function Head({ result: { time, passed, count } }: { result: Result }) {
  return (
    <th scope="col">
      <Time at={time} />
      <span className="eval-sum" data-kind={passed === count ? 'state' : 'error'}>
        <Icon name={passed === count ? 'check' : 'error'} /> {`${number(passed)} of ${number(count)} passed`}
      </span>
    </th>
  );
}

function Row({ row, results }: { row: GridCase; results: readonly Result[] }) {
  const { id, text, expectedRun, missing } = row;
  return (
    <tr>
      <th scope="row">
        {expectedRun ? <a href={linkTo({ kind: 'run', run: expectedRun })}>{text || id}</a> : text || id}
        {missing.map((words) => (
          <span key={words} className="quiet eval-why">
            {words}
          </span>
        ))}
      </th>
      {results.map((result, index) => {
        const cell = row.cells[result.id];
        return (
          <td key={result.id}>
            {cell ? (
              <Score cell={cell} row={row} before={cellBefore(row, results, result.id)} isNewest={index === 0} />
            ) : (
              <span className="quiet">–</span>
            )}
          </td>
        );
      })}
      {results.length === 0 && <td className="quiet">–</td>}
    </tr>
  );
}

type ScoreProps = { cell: Cell; row: GridCase; before: Cell | undefined; isNewest: boolean };

function Score({ cell, row, before, isNewest }: ScoreProps) {
  const { kind, icon, word } = VERDICTS[cell.verdict];
  const change = changeOf(cell, before);
  const why = whyNot(cell);
  const all = cell.metrics.map(({ name, score }) => `${name} ${rounded(score)}`).join('\n');
  const face = (
    <>
      <Icon name={icon} /> {rounded(scoreOf(cell))} <span className="visually-hidden">{word}</span>
    </>
  );
  const other = row.expectedRun ?? before?.run;
  const place =
    cell.run && other
      ? ({ kind: 'compare', a: other, b: cell.run } as const)
      : cell.run && ({ kind: 'run', run: cell.run } as const);
  return (
    <>
      {place ? (
        <a
          className="eval-cell"
          data-kind={kind}
          href={linkTo(place)}
          title={`${all}\n${place.kind === 'run' ? 'Open the run' : `Compare with ${row.expectedRun ? 'what was expected' : 'the run before'}`}`}
        >
          {face}
        </a>
      ) : (
        <span className="eval-cell" data-kind={kind} title={all}>
          {face}
        </span>
      )}
      {change !== null && change !== 0 && (
        <span className="eval-change" data-kind={change > 0 ? 'state' : 'error'} title="Since the evaluation before">
          {change > 0 ? `+${change}` : `−${-change}`}
        </span>
      )}
      {isNewest && why && <span className="quiet eval-why">{why}</span>}
    </>
  );
}
