/** What is different between two runs: their answers, tools, state and steps, each pair in a row. */
import { useMemo, useState, type ReactNode } from 'react';
import { formatRoute, HOME } from '../../app/route';
import { Details } from '../../ui/elements';
import { duration, number } from '../../ui/format';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { markedPieces, middle } from '../../ui/wordDiff';
import { AnswerPair } from './AnswerPair';
import {
  changedInstructions,
  differing,
  summaryOf,
  type Change,
  type Comparison,
  type Instructions,
  type KeyRow,
  type Side,
  type Step,
} from './comparison';
import './compare.css';

const ROWS_SHOWN = 300; // More at once makes the browser slow; the rest comes on demand.

const WORDS: Record<Change, string> = {
  same: 'same',
  changed: 'changed',
  moved: 'moved',
  added: 'only in B',
  removed: 'only in A',
};

/** What is different between two runs, in words. */
const CHANGED: Readonly<Record<string, string>> = {
  answer: 'Answer changed',
  tools: 'Tools changed',
  results: 'Tool results changed',
  nodes: 'Steps changed',
  agents: 'Agents changed',
  requests: 'Prompt changed',
  state: 'Final state changed',
  outcome: 'Outcome changed',
};

/** What differs, as chips. */
export function Differs({ compared: { same, differs } }: { compared: Comparison }) {
  if (same) {
    return (
      <KindChip kind="state" icon="check">
        The runs are the same
      </KindChip>
    );
  }
  return differs.map((aspect) => (
    <KindChip key={aspect} kind="approval" icon="neutral">
      {CHANGED[aspect] ?? `${aspect} changed`}
    </KindChip>
  ));
}

export function Difference({ compared }: { compared: Comparison }) {
  const { answer, state, steps } = compared;
  const [isAll, setAll] = useState(compared.same);
  const tools = useMemo(() => steps.filter(({ kind }) => kind === 'tool'), [steps]);
  const shownTools = isAll ? tools : tools.filter(({ change }) => change !== 'same');
  const shownSteps = useMemo(() => (isAll ? steps : differing(steps)), [isAll, steps]);
  const instructions = useMemo(() => changedInstructions(compared), [compared]);
  return (
    <>
      <p className="compare-summary">{summaryOf(compared).join(' · ')}</p>
      <label className="compare-all">
        <input type="checkbox" checked={!isAll} onChange={(event) => setAll(!event.currentTarget.checked)} />
        Only what differs
      </label>
      <Section title="Answer">
        {answer.same && !isAll ? <p className="quiet">The same in both.</p> : <AnswerPair a={answer.a} b={answer.b} />}
      </Section>
      {instructions.length > 0 && (
        <Section title="Instruction">
          {instructions.map((each, index) => (
            <InstructionOf key={index} instruction={each} />
          ))}
        </Section>
      )}
      <Section title="Tools">
        {tools.length === 0 && <p className="quiet">Neither run called a tool.</p>}
        {tools.length > 0 && shownTools.length === 0 && (
          <p className="quiet">{`The same ${tools.length === 1 ? 'call' : `${number(tools.length)} calls`} in both.`}</p>
        )}
        <Rows of={shownTools}>{(step, index) => <ToolRow key={index} step={step} compared={compared} />}</Rows>
      </Section>
      <Section title="Final state">
        {state.length === 0 && <p className="quiet">The same in both.</p>}
        {state.map((row) => (
          <KeyOf key={row.key} row={row} />
        ))}
      </Section>
      <Section title="Steps">
        {shownSteps.length === 0 && (
          <p className="quiet">{steps.length ? 'All steps are the same.' : 'Neither run did anything.'}</p>
        )}
        <Rows of={shownSteps}>
          {(step, index) => <StepRow key={index} step={step} a={compared.a.run} b={compared.b.run} />}
        </Rows>
      </Section>
    </>
  );
}

/** An instruction as each run had it, with the words marked that the other one lacks. */
function InstructionOf({ instruction: { agent, a, b } }: { instruction: Instructions }) {
  return (
    <Details className="compare-step" open summary={<strong>{agent}</strong>}>
      {() => <MarkedPair a={a} b={b} />}
    </Details>
  );
}

function MarkedPair({ a, b }: { a: string; b: string }) {
  const pieces = useMemo(() => markedPieces(a, b), [a, b]);
  const side = (name: 'a' | 'b') => (
    <div>
      <SideName>{name.toUpperCase()}</SideName>
      <div className="compare-text">
        {pieces[name].map(({ text, isChanged }, index) =>
          isChanged ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
        )}
        {pieces[name].length === 0 && <span className="quiet">None</span>}
      </div>
    </div>
  );
  return (
    <div className="compare-pair">
      {side('a')}
      {side('b')}
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Rows, as many at once as are drawn quickly. */
function Rows<Item>({ of: all, children }: { of: readonly Item[]; children(item: Item, index: number): ReactNode }) {
  const [count, setCount] = useState(ROWS_SHOWN);
  return (
    <>
      {all.slice(0, count).map(children)}
      {all.length > count && (
        <button type="button" className="button" onClick={() => setCount(count + ROWS_SHOWN)}>
          {number(all.length - count)} more
        </button>
      )}
    </>
  );
}

/** A call of a tool: what each run gave it, and what came back. */
function ToolRow({ step, compared }: { step: Step; compared: Comparison }) {
  const { name, change, differs = [] } = step;
  return (
    <div className="compare-key" data-change={change}>
      <p>
        <code>{name}</code> <span className="compare-change">{WORDS[change]}</span>
        {differs.length > 0 && <span className="compare-differs"> {differs.join(', ')}</span>}
      </p>
      <div className="compare-pair">
        <OneSide of="A" side={step.a} run={compared.a.run} differs={differs} request={undefined} />
        <OneSide of="B" side={step.b} run={compared.b.run} differs={differs} request={undefined} />
      </div>
    </div>
  );
}

function KeyOf({ row }: { row: KeyRow }) {
  const missing = <span className="quiet">Not set</span>;
  const [a, b] = [row.a, row.b];
  const isText = typeof a === 'string' && typeof b === 'string';
  return (
    <div className="compare-key" data-change={row.change}>
      <p>
        <code>{row.key}</code> <span className="compare-change">{WORDS[row.change]}</span>
      </p>
      <div className="compare-pair">
        <div>
          <SideName>A</SideName>
          {row.change === 'added' ? missing : isText ? <Marked text={a} other={b} /> : <JsonView value={a} />}
        </div>
        <div>
          <SideName>B</SideName>
          {row.change === 'removed' ? missing : isText ? <Marked text={b} other={a} /> : <JsonView value={b} />}
        </div>
      </div>
    </div>
  );
}

/** Which run a value is of, where the two stand below each other. */
function SideName({ children }: { children: ReactNode }) {
  return <span className="compare-side">{children}</span>;
}

/** A text with what another one has not. */
function Marked({ text, other }: { text: string; other: string }) {
  const { before, a, after } = useMemo(() => middle(text, other), [text, other]);
  return (
    <div className="compare-text">
      {before}
      {a && <mark>{a}</mark>}
      {after}
    </div>
  );
}

/** One step of either run, or of both: a line, and what each run has of it. */
function StepRow({ step, a, b }: { step: Step; a: string; b: string }) {
  const { differs = [] } = step;
  const line = (
    <span className="compare-line" style={{ paddingLeft: `${Math.min(step.depth, 24) * 16}px` }}>
      <span className="compare-change">{WORDS[step.change]}</span>
      <span className="quiet">{step.kind}</span> <strong>{step.name}</strong>
      {differs.length > 0 && <span className="compare-differs">{differs.join(', ')}</span>}
      <span className="compare-times">
        {step.a && duration(step.a.seconds)} {step.a && step.b && '→'} {step.b && duration(step.b.seconds)}
      </span>
    </span>
  );
  return (
    <Details className="compare-step" data-change={step.change} summary={line}>
      {() => (
        <div className="compare-pair">
          <OneSide of="A" side={step.a} run={a} differs={differs} request={step.request?.a} />
          <OneSide of="B" side={step.b} run={b} differs={differs} request={step.request?.b} />
        </div>
      )}
    </Details>
  );
}

const VALUES = ['input', 'output'] as const;

type SideProps = {
  of: 'A' | 'B';
  side: Side | undefined;
  run: string;
  differs: readonly string[];
  request: Record<string, unknown> | undefined;
};

function OneSide({ of, side, run, differs, request }: SideProps) {
  if (!side) {
    return (
      <div className="quiet">
        <SideName>{of}</SideName> Not in this run
      </div>
    );
  }
  const marked = (name: string) => (differs.includes(name) ? '' : undefined);
  return (
    <div>
      <p data-differs={marked('status')}>
        <SideName>{of}</SideName> {differs.includes('name') && `${side.name}: `}
        {side.status}
        {side.error && ` (${side.error})`} · {duration(side.seconds)} ·{' '}
        <a href={formatRoute({ ...HOME, place: { kind: 'run', run }, at: side.cursor })}>Open</a>
      </p>
      {side.text && (
        <div className="compare-text" data-differs={marked('text')}>
          {side.text}
        </div>
      )}
      {request && (
        <div data-differs="">
          <JsonView name="model request" value={request} open={2} />
        </div>
      )}
      {VALUES.map(
        (name) =>
          side[name] !== undefined && (
            <div key={name} data-differs={marked(name)}>
              <JsonView name={name} value={side[name]} />
            </div>
          ),
      )}
    </div>
  );
}
