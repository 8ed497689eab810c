/** The selected step, or the message, edited and run again, beside what was recorded. */
import { placeOf } from '../../film/joined';
import { shared } from '../../film/sharedFile';
import { Empty } from '../../ui/elements';
import { inputOf } from '../inspector/stepDetails';
import type { PanelProps } from '../feature';
import { allSteps, type Step } from '../tree/steps';
import type { Film } from '../../film/film';
import { RunAgain } from './RunAgain';
import type { EditedCall } from './rerun';
import '../../style/panels.css';

export default function RerunPanel({ film, step, turns, turn, live }: PanelProps) {
  const run = placeOf(film, step?.since ?? 1).run;
  const message = turns.find((each) => each.message === turn)?.said ?? '';
  return (
    <section className="panel rerun-panel" aria-label="Edit and run again">
      <div className="body">
        {shared() ? (
          <Empty title="Not in a file">Open the run on its server to run it again.</Empty>
        ) : live ? (
          <Empty title="The run is not over yet">Wait until it is, or stop it. Then it can be run again.</Empty>
        ) : (
          <RunAgain
            key={`${run} ${step?.id ?? ''}`}
            run={run}
            step={step?.id ?? ''}
            message={message}
            agent={step ? agentOf(film, step) : ''}
            call={step && callOf(film, step)}
          />
        )}
      </div>
    </section>
  );
}

/** Return the agent that a step is of, or that it ran in. */
function agentOf(film: Film, step: Step): string {
  const steps = allSteps(film);
  const before = steps.slice(0, steps.indexOf(step) + 1);
  return before.findLast(({ kind, depth }) => kind === 'agent' && depth <= step.depth)?.name ?? '';
}

function callOf(film: Film, step: Step): EditedCall | null {
  if (step.kind !== 'tool') return null;
  const [given] = inputOf(film, step);
  return given && typeof given.value === 'object' ? { tool: step.name, recorded: given.value } : null;
}
