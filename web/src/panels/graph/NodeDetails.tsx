/** The selected node: what it is made of, and what went in and out each time it ran. */
import { useAgentDetails, type AgentDetails, type AgentTool } from '../../film/agentDetails';
import type { AppNode } from '../../film/appGraph';
import type { Film } from '../../film/film';
import { nodeRunAt, runsOf } from '../../film/nodeRuns';
import type { NodeItem } from '../../film/timeline';
import { Details } from '../../ui/Details';
import { Empty } from '../../ui/Empty';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { plural } from '../../ui/format';
import { EventLink } from '../EventLink';
import type { PanelProps } from '../panel';
import './node.css';
import { RunOfNode } from './RunOfNode';
import * as words from '../../words/graph';

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
  const kind = runs[0]?.is.kind ?? declared?.kind ?? '';
  return (
    <section className="node-details" aria-label={words.nodeNamed(name)}>
      <header>
        <h3>
          {name} <span className="muted">{`${kind}${runs.length ? words.runOf(done, runs.length) : ''}`}</span>
        </h3>
        <button type="button" className="button" data-look="quiet" data-square="" aria-label={words.closeTheDetails} onClick={close}>
          <Icon name="cross" />
        </button>
      </header>
      <div className="body" tabIndex={0} role="region" aria-label={words.detailsOf(name)}>
        <MadeOf name={name} model={declared?.model ?? ''} description={declared?.description ?? ''} kind={kind} details={details} />
        <Runs key={name} film={film} at={at} runs={runs} done={done} seek={seek} inspect={inspect} />
      </div>
    </section>
  );
}

type MadeOfProps = { name: string; kind: string; model: string; description: string; details: AgentDetails | null };

function MadeOf({ name, kind, model, description, details }: MadeOfProps) {
  const agent = details?.agents.get(name);
  const tool = details ? [...details.agents.values()].flatMap(({ tools }) => tools).find((each) => each.name === name) : undefined;
  const known = agent?.model || model;
  return (
    <div className="section made-of">
      {known && <p className="muted">{words.model(known)}</p>}
      {description && <p>{description}</p>}
      {!details && <div className="skeleton" role="status" aria-label={words.loadingTheDescription} />}
      {details?.why && (kind === 'agent' || kind === 'tool') && <p className="muted">{details.why}</p>}
      {agent && (
        <Details open summary={<b>{words.instruction}</b>}>
          {() => (agent.instruction ? <Words text={agent.instruction} /> : <p className="muted">{words.agentHasNoInstruction}</p>)}
        </Details>
      )}
      {agent && agent.tools.length > 0 && <Details summary={<b>{words.tools(agent.tools.length)}</b>}>{() => agent.tools.map((each, index) => <Tool key={index} tool={each} />)}</Details>}
      {!agent && tool && (
        <Details open summary={<b>{words.schema}</b>}>
          {() => <Tool tool={tool} />}
        </Details>
      )}
    </div>
  );
}

function Tool({ tool }: { tool: AgentTool }) {
  return tool.problem ? <p className="muted">{`${tool.name}: ${tool.problem}`}</p> : <Json name={tool.name} value={tool} open={1} />;
}

const LONGEST = 20_000; // A longer text is folded by the tree, which shows it in pieces.

export function Words({ text }: { text: string }) {
  return text.length < LONGEST ? <pre className="said">{text}</pre> : <Json value={text} />;
}

type RunsProps = Pick<PanelProps, 'at' | 'seek' | 'inspect'> & { film: Film; runs: readonly NodeItem[]; done: number };

function Runs({ film, at, runs, done, seek, inspect }: RunsProps) {
  if (!runs.length) return <Empty title={words.didNotRun}>{words.appDeclaresTheNodeNothing}</Empty>;
  if (!done) return <Empty title={words.notYet}>{words.startsAt} <EventLink cursor={runs[0]!.since} seek={seek} />.</Empty>;
  const from = Math.max(0, done - SHOWN);
  const current = runs.slice(0, done).findLastIndex((run) => nodeRunAt(film, run, at).until === null);
  const open = current < 0 ? done - 1 : current;
  return (
    <>
      {runs.slice(0, done).some(({ is }) => is.derived) && (
        <p className="section muted">{words.recordingDoesNotSay}</p>
      )}
      {from > 0 && (
        <p className="section muted">
          {words.moveThePlayheadBackTo(plural(from, words.earlierRun))} <EventLink cursor={runs[from - 1]!.since} seek={seek} />.
        </p>
      )}
      {runs.slice(from, done).map((run, index) => (
        <RunOfNode key={run.is.node} film={film} at={at} item={run} number={from + index + 1} isOpen={from + index === open} seek={seek} inspect={inspect} />
      ))}
      {done < runs.length && (
        <p className="section muted">
          {words.nextAt(plural(runs.length - done, words.laterRun))} <EventLink cursor={runs[done]!.since} seek={seek} />.
        </p>
      )}
    </>
  );
}
