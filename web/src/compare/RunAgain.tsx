/** Answer a run's message again, with another model or instruction, and compare. Tools are answered from the recording. */
import { useEffect, useState, type FormEvent } from 'react';
import { explain } from '../app/problem';
import { getJson, postJson } from '../app/request';
import { go, HOME, linkTo } from '../app/route';
import { path } from '../app/serverUrl';
import type { AgentDetail } from '../film/agentDetails';
import { Icon } from '../ui/Icon';
import * as words from '../words/compare';

type Again = { runs: string[]; recorded: string[]; warnings: string[] };
type State = { kind: 'ready' } | { kind: 'running' } | { kind: 'failed'; reason: string } | { kind: 'done'; run: string; other: string; warnings: string[] };

export function RunAgain({ run }: { run: string }) {
  const agents = useAgents(run);
  const [agent, setAgent] = useState('');
  const [text, setText] = useState('');
  const [state, setState] = useState<State>({ kind: 'ready' });
  const known = agents.get(agent)?.instruction ?? '';

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    setState({ kind: 'running' });
    try {
      const again = await postJson<Again>(`${path('api', 'runs', run)}/rerun`, {
        model: String(given.get('model') ?? '').trim(),
        tools: given.get('live') ? 'live' : 'recorded',
        instructions: agent && text !== known ? { [agent]: text } : {},
      });
      const at = Math.max(0, again.recorded.indexOf(run));
      const done = { run: again.recorded[at] ?? run, other: again.runs[at] ?? again.runs.at(-1) ?? '', warnings: again.warnings };
      if (done.warnings.length > 0) setState({ kind: 'done', ...done });
      else go({ ...HOME, place: { kind: 'compare', a: done.run, b: done.other } });
    } catch (problem) {
      setState({ kind: 'failed', reason: explain(problem) });
    }
  };

  return (
    <form onSubmit={submit} className="compare-again" aria-labelledby="run-again">
      <h2 id="run-again">{words.runAgain}</h2>
      <p className="quiet">
        {words.answersTheMessageAgain}
      </p>
      <label>
        {words.model} <input className="field" name="model" placeholder={[...agents.values()].find((each) => each.model)?.model || words.eachAgentsOwn} />
      </label>
      {agents.size > 0 && (
        <label>
          {words.instructionOf} 
          <select
            className="field"
            value={agent}
            onChange={(event) => {
              setAgent(event.target.value);
              setText(agents.get(event.target.value)?.instruction ?? '');
            }}
          >
            <option value="">{words.noAgent}</option>
            {[...agents.keys()].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {agent && <textarea className="field mono" rows={8} aria-label={words.instructionOfAgent(agent)} value={text} onChange={(event) => setText(event.target.value)} />}
      <label className="compare-all">
        <input type="checkbox" name="live" /> {words.callTheToolsWhateverThey}
      </label>
      <button type="submit" className="button" data-look="primary" disabled={state.kind === 'running'}>
        {state.kind === 'running' ? words.runningNow : words.runAgainAndCompare}
      </button>
      <Outcome state={state} />
    </form>
  );
}

function Outcome({ state }: { state: State }) {
  if (state.kind === 'failed') {
    return (
      <p className="notice" data-kind="error" role="alert">
        <Icon name="error" /> {state.reason}
      </p>
    );
  }
  if (state.kind !== 'done') return null;
  return (
    <div className="notice" data-kind="approval" role="alert">
      <ul>
        {state.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
      <a className="button" href={linkTo({ kind: 'compare', a: state.run, b: state.other })}>
        {words.compare}
      </a>
    </div>
  );
}

/** Return the agents of a run's app with their instructions; none where they cannot be seen. */
function useAgents(run: string): ReadonlyMap<string, AgentDetail> {
  const [agents, setAgents] = useState<ReadonlyMap<string, AgentDetail>>(new Map());
  useEffect(() => {
    const leaving = new AbortController();
    const load = async () => {
      const { app } = await getJson<{ app: string }>(path('api', 'runs', run), leaving.signal);
      const found = await getJson<Record<string, AgentDetail>>(`${path('api', 'apps', app)}/agents`, leaving.signal);
      setAgents(new Map(Object.entries(found).filter(([, detail]) => detail.instruction)));
    };
    load().catch(() => undefined); // To run again says why it cannot be.
    return () => leaving.abort();
  }, [run]);
  return agents;
}
