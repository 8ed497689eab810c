/** What the runs that fit took over time: durations, failures, and what they cost. */
import { formatRoute, HOME } from '../../app/route';
import { compact, costNumber, duration, number, plural, share } from '../../ui/format';
import type { Kind } from '../../ui/Kind';
import { Details } from '../../ui/elements';
import { fieldsOf, type Fields } from './filters';
import type { Measured, Trends } from './runs';

/** Of a chart; it is stretched to the room that there is. */
const [WIDTH, HEIGHT] = [480, 56];

type Point = Trends['points'][number];
type Line = { kind: Kind; of(point: Measured): number | null | undefined; words(total: Measured): string };
type Chart = { title: string; look: 'line' | 'bar'; lines: readonly Line[] };

const DURATION: Chart = {
  title: 'Duration',
  look: 'line',
  lines: [
    { kind: 'reasoning', of: ({ p95 }) => p95, words: ({ p95 }) => `${duration(p95 ?? 0)} 95th percentile` },
    { kind: 'text', of: ({ median }) => median, words: ({ median }) => `${duration(median ?? 0)} median` },
  ],
};

const FAILURES: Chart = {
  title: 'Failures',
  look: 'bar',
  lines: [
    { kind: 'neutral', of: ({ runs }) => runs, words: ({ runs }) => plural(runs, 'run') },
    {
      kind: 'error',
      of: ({ failed }) => failed,
      words: ({ runs, failed }) => (failed ? `${number(failed)} failed (${share(failed / runs)})` : 'none failed'),
    },
  ],
};

const COST: Chart = {
  title: 'Cost',
  look: 'bar',
  lines: [{ kind: 'proof', of: ({ cost }) => cost, words: costOf }],
};

const TOKENS: Chart = {
  title: 'Tokens',
  look: 'bar',
  lines: [
    {
      kind: 'proof',
      of: ({ tokens }) => tokens,
      words: ({ tokens, runs }) => `${compact(tokens)}, ${compact(Math.round(tokens / runs))} for a run`,
    },
  ],
};

function costOf({ cost, runs, unpriced = 0 }: Measured): string {
  if (cost == null) return 'no model has a price';
  const each = `${costNumber(cost)}, ${costNumber(cost / (runs - unpriced))} for a run`;
  return unpriced ? `${each}; ${plural(unpriced, 'run')} without a price` : each;
}

export function TrendCharts({ trends, fields }: { trends: Trends; fields: Fields }) {
  const { points, total, step } = trends;
  if (total.runs < 2) return null;
  const charts = [DURATION, FAILURES, total.cost === undefined ? TOKENS : COST];
  const [first, last] = [points[0]!, points.at(-1)!];
  return (
    <section className="trends" aria-label="Trends">
      {charts.map((chart) => (
        <figure key={chart.title}>
          <figcaption>
            <h2>{chart.title}</h2>
            {chart.lines.toReversed().map((line) => (
              <span key={line.kind} className="quiet trend-key" data-kind={line.kind}>
                {line.words(total)}
              </span>
            ))}
          </figcaption>
          <Drawing chart={chart} trends={trends} />
          <p className="trend-axis" aria-hidden="true">
            <span>{moment(first.at, step)}</span>
            <span>{points.length > 1 ? moment(last.at, step) : ''}</span>
          </p>
        </figure>
      ))}
      <Details className="trend-numbers" summary="Show numbers">
        {() => <Numbers trends={trends} fields={fields} />}
      </Details>
      {trends.limited && <p className="quiet">{`The newest ${number(total.runs)} runs are counted.`}</p>}
    </section>
  );
}

function Drawing({ chart, trends: { points, step } }: { chart: Chart; trends: Trends }) {
  const values = (line: Line) => points.map((point) => line.of(point) ?? null);
  const most = Math.max(0, ...chart.lines.flatMap(values).map((value) => value ?? 0)) || 1;
  const slot = WIDTH / points.length;
  const top = (value: number) => HEIGHT - (value / most) * (HEIGHT - 4);
  return (
    <svg className="trend" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {chart.lines.map((line) =>
        chart.look === 'bar' ? (
          <path key={line.kind} data-kind={line.kind} className="trend-bar" d={bars(values(line), slot, top)} />
        ) : (
          <path key={line.kind} data-kind={line.kind} className="trend-line" d={steps(values(line), slot, top)} />
        ),
      )}
      {points.map((point, index) => (
        <rect key={point.at} className="trend-slot" x={index * slot} y={0} width={slot} height={HEIGHT}>
          <title>{`${moment(point.at, step)}: ${point.runs ? chart.lines.map((line) => line.words(point)).join(', ') : 'no runs'}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function bars(values: readonly (number | null)[], slot: number, top: (value: number) => number): string {
  const gap = Math.min(1, slot / 6);
  return values
    .map((value, at) =>
      value
        ? `M${at * slot + gap} ${HEIGHT}V${top(value)}H${Math.max(at * slot + gap + 1, (at + 1) * slot - gap)}V${HEIGHT}Z`
        : '',
    )
    .join('');
}

/** A line through the spans that have a value; each is as wide as its span, so that one alone is seen, too. */
function steps(values: readonly (number | null)[], slot: number, top: (value: number) => number): string {
  return values
    .map((value, at) => {
      if (value === null) return '';
      const begin = values[at - 1] == null ? 'M' : 'L';
      return `${begin}${at * slot} ${top(value)}H${(at + 1) * slot}`;
    })
    .join('');
}

/** The same as a table, where each span of time leads to its runs. */
function Numbers({ trends: { points, step, total }, fields }: { trends: Trends; fields: Fields }) {
  const hasCost = total.cost !== undefined;
  return (
    <div className="table" role="region" aria-label="Trends in numbers" tabIndex={0}>
      <table className="recent">
        <thead>
          <tr>
            <th scope="col">From</th>
            {['Runs', 'Failed', 'Median', '95th percentile', 'Tokens', ...(hasCost ? ['Cost'] : [])].map((title) => (
              <th key={title} scope="col" className="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points
            .filter(({ runs }) => runs > 0)
            .map((point) => (
              <tr key={point.at}>
                <td>
                  <a href={linkToSpan(point, step, fields)}>{moment(point.at, step)}</a>
                </td>
                <td className="number">{number(point.runs)}</td>
                <td className="number">{number(point.failed)}</td>
                <td className="number">{duration(point.median ?? 0)}</td>
                <td className="number">{duration(point.p95 ?? 0)}</td>
                <td className="number">{number(point.tokens)}</td>
                {hasCost && <td className="number">{point.cost == null ? '–' : costNumber(point.cost)}</td>}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

function linkToSpan({ at }: Point, step: number, fields: Fields): string {
  const options = { ...fieldsOf(fields), since: String(at), until: String(at + step) };
  return formatRoute({ ...HOME, place: { kind: 'search' }, options });
}

const DAY = 86_400;

/** Say when a span of time begins: by the hour, or by the day where it is as long. */
function moment(at: number, step: number): string {
  const date = new Date(at * 1000);
  const day: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
  if (step >= DAY) return date.toLocaleDateString(undefined, { ...day, year: 'numeric' });
  return date.toLocaleString(undefined, { ...day, hour: '2-digit', minute: '2-digit' });
}
