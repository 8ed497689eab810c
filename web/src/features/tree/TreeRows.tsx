/** The rows of the trace. Only those in sight are drawn, however many there are. */
import { memo, useEffect, useId, useMemo, useRef, useState, type CSSProperties, type KeyboardEvent } from 'react';
import type { Film } from '../../film/film';
import { once } from '../../film/film';
import { pausesOf } from '../../film/joined';
import { SECOND, timeAt } from '../../film/timeline';
import { Icon } from '../../ui/Icon';
import { costShort, duration, number, plural, readable, tookWords } from '../../ui/format';
import { useSize } from '../../ui/hooks';
import { axisOf, ticksOf, type Row, type Turn } from './rows';
import { detailOf, receiptOf, statusPassed, timesOf, type Step } from './steps';
import { callNumber, hueOf, STATUS_WORDS, STEP_ICONS, STEP_WORDS } from './words';

const LAST_TICK = 0.5; // Of the axis: behind it there is no room for the words of a tick.

/** Height of a row in pixels, as in tree.css. */
const ROW = 28;
const BEYOND = 8; // Rows above and below what is seen.

const axes = once(axisOf);

type Props = {
  rows: readonly Row[];
  /** The message that the panels show. */
  focus: string;
  at: number;
  isPast: boolean;
  /** Key of the row that is selected. */
  chosen: string | null;
  /** Entries of the shown message that fit what is looked for. */
  matches: readonly number[];
  toggle(key: string, isOpen: boolean): void;
  pick(turn: Turn, step: Step): void;
};

export function TreeRows({ rows, focus, at, isPast, chosen, matches, toggle, pick }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { height } = useSize(box);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState<string | null>(null);
  const id = useId();
  const current = active !== null && rows.some(({ key }) => key === active) ? active : (chosen ?? rows[0]?.key ?? null);
  useSeen(box, rows, chosen);
  const first = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const shown = rows.slice(first, first + Math.ceil((height || 600) / ROW) + 2 * BEYOND);
  const found = useMemo(() => new Set(matches), [matches]);
  const isFound = (film: Film, step: Step) =>
    found.size > 0 &&
    !step.children.length &&
    [...range(step.since, step.until ?? film.last)].some((cursor) => found.has(cursor));
  const press = (event: KeyboardEvent) => {
    const index = rows.findIndex(({ key }) => key === current);
    const row = rows[index];
    const goTo = (next: Row | undefined) => {
      if (!next) return;
      setActive(next.key);
      scrollTo(box.current, rows.indexOf(next));
      if (next.kind === 'step') pick(next.turn, next.step);
    };
    const isOpen = row && 'isOpen' in row ? row.isOpen : null;
    const acts: Record<string, () => void> = {
      ArrowDown: () => goTo(rows[index + 1]),
      ArrowUp: () => goTo(rows[index - 1]),
      Home: () => goTo(rows[0]),
      End: () => goTo(rows.at(-1)),
      ArrowRight: () => (isOpen === false ? toggle(row!.key, true) : goTo(rows[index + 1])),
      ArrowLeft: () => (isOpen ? toggle(row!.key, false) : goTo(rows[index - 1])),
      Enter: () => (row?.kind === 'step' ? pick(row.turn, row.step) : isOpen !== null && toggle(row!.key, !isOpen)),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };
  const last = rows.findLast(({ kind }) => kind === 'turn')?.turn.message;
  const hasCosts = rows.some((row) => row.kind === 'step' && row.step.cost !== undefined);
  return (
    <>
      <Columns hasCosts={hasCosts} />
      <div
        className="tree"
        ref={box}
        role="tree"
        aria-label="Steps"
        tabIndex={0}
        data-costs={hasCosts || undefined}
        aria-activedescendant={
          current !== null && shown.some(({ key }) => key === current) ? `${id}${current}` : undefined
        }
        onKeyDown={press}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div className="tree-extent" role="presentation" style={{ height: rows.length * ROW }}>
          {shown.map((row, index) => (
            <RowView
              key={row.key}
              id={`${id}${row.key}`}
              row={row}
              top={(first + index) * ROW}
              isChosen={row.key === chosen}
              isActive={row.key === current}
              isPassed={row.turn.message !== last}
              isFound={row.kind === 'step' && row.turn.message === focus && isFound(row.film, row.step)}
              at={isPast && row.turn.message === focus ? at : null}
              toggle={toggle}
              pick={pick}
              setActive={setActive}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** What stands in the columns. A tree has no headings for those who cannot see it: each number says what it is. */
function Columns({ hasCosts }: { hasCosts: boolean }) {
  return (
    <div className="tree-head" data-costs={hasCosts || undefined} aria-hidden="true">
      <span className="tree-name">Step</span>
      <span className="tree-bar" />
      <span className="tree-number">Time</span>
      <span className="tree-number">Tokens</span>
      {hasCosts && <span className="tree-number cost">Cost</span>}
    </div>
  );
}

function* range(from: number, to: number): Generator<number> {
  for (let cursor = from; cursor <= to; cursor++) yield cursor;
}

function scrollTo(box: HTMLElement | null, index: number): void {
  if (!box || index < 0) return;
  const top = index * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
}

/** Bring the row that was selected elsewhere into sight. */
function useSeen(box: React.RefObject<HTMLDivElement | null>, rows: readonly Row[], chosen: string | null): void {
  const seen = useRef<string | null>(null);
  useEffect(() => {
    if (chosen === seen.current) return;
    const index = rows.findIndex(({ key }) => key === chosen);
    if (index < 0) return;
    seen.current = chosen;
    scrollTo(box.current, index);
  });
}

type RowProps = {
  id: string;
  row: Row;
  top: number;
  isChosen: boolean;
  isActive: boolean;
  /** Another message follows the one that it is of. */
  isPassed: boolean;
  isFound: boolean;
  /** The playhead, where it is in this message and not at its end. */
  at: number | null;
  toggle(key: string, isOpen: boolean): void;
  pick(turn: Turn, step: Step): void;
  setActive(key: string): void;
};

const RowView = memo(
  function RowView({ id, row, top, isChosen, isActive, isPassed, isFound, at, toggle, pick, setActive }: RowProps) {
    const isOpen = 'isOpen' in row ? row.isOpen : null;
    const depth = row.kind === 'step' || row.kind === 'fold' ? row.depth + 1 : row.kind === 'note' ? 1 : 0;
    const choose = () => {
      setActive(row.key);
      if (row.kind === 'step') pick(row.turn, row.step);
      else if (isOpen !== null) toggle(row.key, !isOpen);
    };
    const step = row.kind === 'fold' ? row.steps[0]! : row.kind === 'step' ? row.step : null;
    const status = row.kind === 'step' && isPassed ? statusPassed(row.film, row.step) : step?.status;
    const isLater = at !== null && row.kind === 'step' && row.step.since > at;
    return (
      <div
        id={id}
        role="treeitem"
        tabIndex={-1}
        className="tree-row"
        aria-level={depth + 1}
        aria-expanded={isOpen ?? undefined}
        aria-selected={isChosen}
        data-row={row.kind}
        data-active={isActive || undefined}
        data-found={isFound || undefined}
        data-later={isLater || undefined}
        data-kind={step && status ? hueOf({ ...step, status }) : undefined}
        data-status={row.kind === 'step' ? status : undefined}
        style={{ top }}
        onClick={choose}
      >
        <span className="tree-name" style={{ paddingLeft: Math.min(depth, 12) * 12 }}>
          <span
            className="twisty"
            aria-hidden="true"
            data-open={isOpen || undefined}
            onClick={(event) => {
              if (isOpen === null) return;
              event.stopPropagation();
              toggle(row.key, !isOpen);
            }}
          >
            {isOpen !== null && <Icon name="chevron" />}
          </span>
          <Name row={row} status={status} />
        </span>
        <Figures row={row} at={at} />
      </div>
    );
  },
  (before, after) =>
    before.row.key === after.row.key &&
    before.top === after.top &&
    before.isChosen === after.isChosen &&
    before.isActive === after.isActive &&
    before.isPassed === after.isPassed &&
    before.isFound === after.isFound &&
    before.at === after.at &&
    sameRow(before.row, after.row),
);

function sameRow(one: Row, other: Row): boolean {
  if (one.kind === 'step' && other.kind === 'step')
    return one.film === other.film && one.isOpen === other.isOpen && one.depth === other.depth;
  if (one.kind === 'turn' && other.kind === 'turn')
    return one.film === other.film && one.isOpen === other.isOpen && one.turn.said === other.turn.said;
  if (one.kind === 'fold' && other.kind === 'fold') return one.film === other.film && one.isOpen === other.isOpen;
  return one.kind === other.kind;
}

function Name({ row, status = 'finished' }: { row: Row; status?: Step['status'] }) {
  switch (row.kind) {
    case 'turn':
      return (
        <>
          <Icon name="user" />
          <strong className="tree-title">{row.turn.said || `Message ${row.index + 1}`}</strong>
        </>
      );
    case 'step': {
      const { step } = row;
      const number = callNumber(step);
      return (
        <>
          <Icon name={step.status === 'failed' ? 'error' : STEP_ICONS[step.kind]} />
          <span className="tree-title">
            <span className={number === null ? 'visually-hidden' : undefined}>{`${STEP_WORDS[step.kind]} `}</span>
            {number ?? (step.kind === 'agent' ? readable(step.name) : step.name)}
          </span>
          {status !== 'finished' && <span className="tree-status">{STATUS_WORDS[status]}</span>}
          <span className="tree-detail">
            {step.error || [number === null ? '' : step.name, detailOf(row.film, step)].filter(Boolean).join(' · ')}
          </span>
        </>
      );
    }
    case 'fold':
      return (
        <>
          <Icon name={STEP_ICONS[row.steps[0]!.kind]} />
          <span className="tree-title">
            {row.steps[0]!.kind === 'state' ? 'State changes' : row.steps[0]!.name} <b>×{number(row.steps.length)}</b>
          </span>
        </>
      );
    case 'note':
      return <span className="tree-detail">{row.words}</span>;
  }
}

/** The bar on the time axis of its message, how long it took, tokens and cost. */
function Figures({ row, at }: { row: Row; at: number | null }) {
  if (row.kind === 'note') return null;
  if (row.kind === 'turn') {
    if (!row.film) return null;
    const axis = axes(row.film);
    const receipt = receiptOf(row.film);
    return (
      <>
        <span className="tree-bar tree-axis" aria-hidden="true">
          {ticksOf(axis, 2)
            .filter((time) => time / axis.total < LAST_TICK)
            .map((time) => (
              <span key={time} className="tick" style={{ left: `${(time / axis.total) * 100}%` }}>
                {duration(time / SECOND)}
              </span>
            ))}
        </span>
        <span className="tree-number" title={tookWords(axis.total / SECOND, receipt.waited)}>
          {duration(axis.total / SECOND)}
        </span>
        <span className="tree-number tokens" title={plural(receipt.tokens, 'token')}>
          {receipt.tokens ? number(receipt.tokens) : ''}
        </span>
        <span className="tree-number cost">{receipt.cost ? costShort(receipt.cost) : ''}</span>
      </>
    );
  }
  const steps = row.kind === 'fold' ? row.steps : [row.step];
  const tokens = steps.reduce((sum, step) => sum + (step.tokens.total ?? 0), 0);
  const times = steps.map((step) => timesOf(row.film, step));
  const [worked, waited] = [sumOf(times.map((each) => each.worked)), sumOf(times.map((each) => each.waited))];
  const cost = row.kind === 'step' ? row.step.cost : undefined;
  return (
    <>
      <span className="tree-bar" aria-hidden="true">
        <Bars film={row.film} steps={steps} />
        {at !== null && <span className="now" style={{ left: percent(axes(row.film).place(timeAt(row.film, at))) }} />}
      </span>
      <span className="tree-number" title={waited > 0 ? tookWords(worked / SECOND, waited / SECOND) : undefined}>
        {worked > 0 ? duration(worked / SECOND) : ''}
      </span>
      <span className="tree-number tokens" title={tokens ? plural(tokens, 'token') : undefined}>
        {tokens ? number(tokens) : ''}
      </span>
      <span className="tree-number cost">{cost ? costShort(cost) : ''}</span>
    </>
  );
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

const MOST_BARS = 60; // Of a fold; what lies between two is not told apart.

function Bars({ film, steps }: { film: Film; steps: readonly Step[] }) {
  const { place } = axes(film);
  const every = Math.ceil(steps.length / MOST_BARS);
  const pauses = pausesOf(film);
  return steps
    .filter((_, index) => index % every === 0)
    .map((step) => {
      const [from, to] = [place(step.start), place(step.end)];
      const isPaused = pauses.some((pause) => step.start <= pause.from && step.end >= pause.until);
      const style: CSSProperties = { left: percent(from), width: percent(to - from) };
      return <span key={step.id} className="bar" data-paused={isPaused || undefined} style={style} />;
    });
}

function percent(share: number): string {
  return `${Math.round(share * 10_000) / 100}%`;
}
