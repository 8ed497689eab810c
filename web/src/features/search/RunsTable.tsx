/** Runs as a table: a message in a row, and below it the runs that went on with it. */
import { linkTo } from '../../app/route';
import { OUTCOMES, KindChip } from '../../ui/Kind';
import { Icon } from '../../ui/Icon';
import { Time } from '../../ui/elements';
import { compact, costNumber, duration, number, share } from '../../ui/format';
import type { Fields } from './filters';
import { foundTitle, groupsOf, linkToFound, type FoundRun } from './runs';

type Column = {
  title: string;
  isNumber?: boolean;
  /** The least important are left out first where there is little room. */
  rank: 1 | 2 | 3;
  /** Its orders, as the server calls them: the first click, and the next one. */
  sorts?: readonly [string, string];
  Cell(props: { found: FoundRun }): React.ReactNode;
};

const COLUMNS: readonly Column[] = [
  { title: 'App', rank: 2, Cell: AppCell },
  { title: 'Outcome', rank: 1, Cell: OutcomeCell },
  { title: 'When', rank: 1, sorts: ['newest', 'oldest'], Cell: ({ found }) => <Time at={found.started} /> },
  {
    title: 'Duration',
    rank: 2,
    isNumber: true,
    sorts: ['longest', 'shortest'],
    Cell: ({ found }) => duration(found.duration),
  },
  { title: 'Model calls', rank: 3, isNumber: true, Cell: ({ found }) => found.modelCalls || '–' },
  { title: 'Tools', rank: 3, Cell: ({ found }) => <Names names={found.tools} /> },
  {
    title: 'Tokens',
    rank: 2,
    isNumber: true,
    sorts: ['most-tokens', 'fewest-tokens'],
    Cell: ({ found }) => (found.tokens ? number(found.tokens) : '–'),
  },
];

const COST: Column = {
  title: 'Cost',
  rank: 2,
  isNumber: true,
  sorts: ['highest-cost', 'lowest-cost'],
  Cell: ({ found }) => (found.cost == null ? '–' : costNumber(found.cost)),
};

const CONFIDENCE: Column = {
  title: 'Confidence',
  rank: 3,
  isNumber: true,
  Cell: ({ found }) => (found.confidence === undefined ? '–' : share(found.confidence)),
};

type Props = { runs: readonly FoundRun[]; fields: Fields; sort(order: string): void };

export function RunsTable({ runs, fields, sort }: Props) {
  const columns = [
    ...COLUMNS,
    ...(runs.some(({ cost }) => cost !== undefined) ? [COST] : []),
    ...(runs.some(({ confidence }) => confidence !== undefined) ? [CONFIDENCE] : []),
  ];
  return (
    <div className="table" role="region" aria-label="Runs" tabIndex={0}>
      <table className="recent runs-table">
        <thead>
          <tr>
            <th scope="col">Message</th>
            {columns.map((column) => (
              <Head key={column.title} column={column} order={fields.sort || 'newest'} sort={sort} />
            ))}
            <th scope="col">
              <span className="visually-hidden">Compare</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {groupsOf(runs).map(({ first, later }) => [
            <Row key={first.run} found={first} fields={fields} columns={columns} />,
            ...later.map((found) => <Row key={found.run} found={found} fields={fields} columns={columns} isLater />),
          ])}
        </tbody>
      </table>
    </div>
  );
}

function Head({ column, order, sort }: { column: Column; order: string; sort: Props['sort'] }) {
  const { title, isNumber, rank, sorts } = column;
  const at = sorts?.indexOf(order) ?? -1;
  // The greatest, or the newest, comes first at the first click.
  const direction = at === 0 ? 'descending' : at === 1 ? 'ascending' : undefined;
  return (
    <th scope="col" data-rank={rank} className={isNumber ? 'number' : undefined} aria-sort={direction}>
      {sorts ? (
        <button
          type="button"
          className="sort"
          title={`Sort: ${sorts[at === 0 ? 1 : 0].replace('-', ' ')} first`}
          onClick={() => sort(sorts[at === 0 ? 1 : 0])}
        >
          {title}
          {direction && <Icon name="down" />}
        </button>
      ) : (
        title
      )}
    </th>
  );
}

type RowProps = { found: FoundRun; fields: Fields; columns: readonly Column[]; isLater?: boolean };

function Row({ found, fields, columns, isLater = false }: RowProps) {
  const isElsewhere = found.match !== undefined && found.match.in !== 'user';
  const title = foundTitle(found);
  return (
    <tr data-later={isLater || undefined}>
      <td>
        <a href={linkToFound(found, fields)}>{isLater ? 'Continued after an answer' : title}</a>
        {isElsewhere && <span className="quiet excerpt">{found.match?.excerpt}</span>}
        <span className="quiet runs-brief">
          {[
            found.app,
            duration(found.duration),
            found.tokens > 0 && `${compact(found.tokens)} tokens`,
            found.cost != null && costNumber(found.cost),
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </td>
      {columns.map(({ title: name, rank, isNumber, Cell }) => (
        <td key={name} data-rank={rank} className={isNumber ? 'number' : undefined}>
          <Cell found={found} />
        </td>
      ))}
      <td>
        <a
          className="button"
          data-look="quiet"
          data-square=""
          href={linkTo({ kind: 'compare', a: found.run, b: null })}
          aria-label={`Compare ${title} with another run`}
          title="Compare with another run"
        >
          <Icon name="branch" />
        </a>
      </td>
    </tr>
  );
}

function AppCell({ found }: { found: FoundRun }) {
  const others = found.agents.filter((name) => name !== found.app);
  return (
    <>
      {found.app}
      {others.length > 0 && (
        <span className="quiet">
          {' '}
          <Names names={others} />
        </span>
      )}
    </>
  );
}

/** The first name; the others are in its title. */
function Names({ names }: { names: readonly string[] }) {
  if (!names.length) return '–';
  return (
    <span title={names.join(', ')}>
      {names[0]}
      {names.length > 1 && ` +${names.length - 1}`}
    </span>
  );
}

const ANSWERED = { kind: 'neutral', icon: 'check', word: 'Answered' } as const;

function OutcomeCell({ found }: { found: FoundRun }) {
  const { kind, icon, word } = found.answered ? ANSWERED : OUTCOMES[found.outcome];
  return (
    <KindChip kind={kind} icon={icon} title={found.errors.join(', ') || undefined}>
      {found.errors[0] ?? word}
    </KindChip>
  );
}
