/** One step of either run, or of both: a line, and what each run has of it. */
import { formatRoute, HOME } from '../app/route';
import { Details } from '../ui/Details';
import { Json } from '../ui/Json';
import { duration } from '../ui/format';
import type { Change, Side, Step } from './comparison';
import * as words from '../words/compare';

const WORDS: Record<Change, string> = { same: 'same', changed: 'changed', moved: 'moved', added: words.onlyInB, removed: words.onlyInA };

type Props = { step: Step; a: string; b: string };

export function StepRow({ step, a, b }: Props) {
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
          <OneSide side={step.a} run={a} differs={differs} request={step.request?.a} />
          <OneSide side={step.b} run={b} differs={differs} request={step.request?.b} />
        </div>
      )}
    </Details>
  );
}

const VALUES = ['input', 'output'] as const;

type SideProps = { side: Side | undefined; run: string; differs: readonly string[]; request: Record<string, unknown> | undefined };

function OneSide({ side, run, differs, request }: SideProps) {
  if (!side) return <div className="quiet">{words.notInThisRun}</div>;
  const marked = (name: string) => (differs.includes(name) ? '' : undefined);
  return (
    <div>
      <p data-differs={marked('status')}>
        {side.name}: {side.status}
        {side.error && ` (${side.error})`} · <a href={formatRoute({ ...HOME, place: { kind: 'run', run }, at: side.cursor })}>{words.event(side.cursor)}</a>
      </p>
      {side.text && (
        <div className="compare-text" data-differs={marked('text')}>
          {side.text}
        </div>
      )}
      {request && (
        <div data-differs="">
          <Json name="model request" value={request} open={2} />
        </div>
      )}
      {VALUES.map(
        (name) =>
          side[name] !== undefined && (
            <div key={name} data-differs={marked(name)}>
              <Json name={name} value={side[name]} />
            </div>
          ),
      )}
    </div>
  );
}
