/** The selected node: what it is made of, and what went in and out each time it ran. */
import { useAgentDetails, type AgentDetails, type AgentTool, type AppNode } from '../../film/appGraph';
import type { Film } from '../../film/film';
import { nodeRunAt, runsOf, RunOfNode } from './RunOfNode';
import type { NodeItem } from '../../film/timeline';
import { Details, Empty, EventLink } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { plural } from '../../ui/format';
import type { PanelProps } from '../feature';
import './node.css';

const SHOWN = 50; // Runs of one node; the playhead chooses which.

type Props = Pick<PanelProps, 'film' | 'at' | 'seek' | 'inspect'> & {
  name: string;
  /** What the app declares of it. */
  declared: AppNode | undefined;
  close(): void;
};

export function NodeDetails({ name, declared, film, at, seek, inspect, close }: Props) {
  const details = useAgentDetails(film);
  const runs = runsOf(film, name);
  const done = runs.filter((run) => run.since <= at).length;
  // The tool that runs an agent has the agent's name: what it is, the agent says.
  const kind = (runs.find(({ is }) => is.kind !== 'tool') ?? runs[0])?.is.kind ?? declared?.kind ?? '';
  return (
    <section className="node-details" aria-label={`Node ${name}`}>
      <header>
        <h3>
          {name} <span className="muted">{`${kind}${runs.length ? `, run ${done} of ${runs.length}` : ''}`}</span>
        </h3>
        <button
          type="button"
          className="button"
          data-look="quiet"
          data-square=""
          aria-label="Close the details"
          onClick={close}
        >
          <Icon name="cross" />
        </button>
      </header>
      <div className="body" tabIndex={0} role="region" aria-label={`Details of ${name}`}>
        <MadeOf
          name={name}
          model={declared?.model ?? ''}
          description={declared?.description ?? ''}
          kind={kind}
          details={details}
        />
        <Runs key={name} film={film} at={at} runs={runs} done={done} seek={seek} inspect={inspect} />
      </div>
    </section>
  );
}

type MadeOfProps = { name: string; kind: string; model: string; description: string; details: AgentDetails | null };

function MadeOf({ name, kind, model, description, details }: MadeOfProps) {
  const agent = details?.agents.get(name);
  const tool = details
    ? [...details.agents.values()].flatMap(({ tools }) => tools).find((each) => each.name === name)
    : undefined;
  const known = agent?.model || model;
  return (
    <div className="section made-of">
      {known && <p className="muted">{`Model ${known}`}</p>}
      {description && <p>{description}</p>}
      {!details && <div className="skeleton" role="status" aria-label="Loading the description" />}
      {details?.why && (kind === 'agent' || kind === 'tool') && <p className="muted">{details.why}</p>}
      {agent && (
        <Details open summary={<b>Instruction</b>}>
          {() =>
            agent.instruction ? (
              <Words text={agent.instruction} />
            ) : (
              <p className="muted">This agent has no instruction.</p>
            )
          }
        </Details>
      )}
      {agent && agent.tools.length > 0 && (
        <Details summary={<b>{`Tools (${agent.tools.length})`}</b>}>
          {() => agent.tools.map((each, index) => <Tool key={index} tool={each} />)}
        </Details>
      )}
      {!agent && tool && (
        <Details open summary={<b>Schema</b>}>
          {() => <Tool tool={tool} />}
        </Details>
      )}
    </div>
  );
}

function Tool({ tool }: { tool: AgentTool }) {
  return tool.problem ? (
    <p className="muted">{`${tool.name}: ${tool.problem}`}</p>
  ) : (
    <JsonView name={tool.name} value={tool} open={1} />
  );
}

const LONGEST = 20_000; // A longer text is folded by the tree, which shows it in pieces.

export function Words({ text }: { text: string }) {
  return text.length < LONGEST ? <pre className="said">{text}</pre> : <JsonView value={text} />;
}

type RunsProps = Pick<PanelProps, 'at' | 'seek' | 'inspect'> & { film: Film; runs: readonly NodeItem[]; done: number };

function Runs({ film, at, runs, done, seek, inspect }: RunsProps) {
  if (!runs.length)
    return <Empty title="It did not run">This app declares the node; nothing of it was recorded in this run.</Empty>;
  if (!done)
    return (
      <Empty title="Not yet">
        It starts at <EventLink cursor={runs[0]!.since} seek={seek} />.
      </Empty>
    );
  const from = Math.max(0, done - SHOWN);
  const current = runs.slice(0, done).findLastIndex((run) => nodeRunAt(film, run, at).until === null);
  const open = current < 0 ? done - 1 : current;
  return (
    <>
      {runs.slice(0, done).some(({ is }) => is.derived) && (
        <p className="section muted">The recording does not say when nodes ran: this was inferred from the events.</p>
      )}
      {from > 0 && (
        <p className="section muted">
          {`${plural(from, 'earlier run')}: move the playhead back, to`}{' '}
          <EventLink cursor={runs[from - 1]!.since} seek={seek} />.
        </p>
      )}
      {runs.slice(from, done).map((run, index) => (
        <RunOfNode
          key={run.is.node}
          film={film}
          at={at}
          item={run}
          number={from + index + 1}
          isOpen={from + index === open}
          seek={seek}
          inspect={inspect}
        />
      ))}
      {done < runs.length && (
        <p className="section muted">
          {`${plural(runs.length - done, 'later run')}, the next at`}{' '}
          <EventLink cursor={runs[done]!.since} seek={seek} />.
        </p>
      )}
    </>
  );
}
