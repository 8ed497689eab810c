/**
 * Answer a run's message again, with another model or instruction, and compare. Tools are answered from the recording.
 */
import { useState, type FormEvent } from 'react';
import { useServerData } from '../../app/query';
import { explain, path, getJson, postJson } from '../../app/server';
import { go, HOME, linkTo } from '../../app/route';
import type { AgentDetail } from '../../film/appGraph';
import { Icon } from '../../ui/Icon';

type Again = { runs: string[]; recorded: string[]; warnings: string[] };
type State =
  | { kind: 'ready' }
  | { kind: 'running' }
  | { kind: 'failed'; reason: string }
  | { kind: 'done'; run: string; other: string; warnings: string[] };

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
      const done = {
        run: again.recorded[at] ?? run,
        other: again.runs[at] ?? again.runs.at(-1) ?? '',
        warnings: again.warnings,
      };
      if (done.warnings.length > 0) setState({ kind: 'done', ...done });
      else go({ ...HOME, place: { kind: 'compare', a: done.run, b: done.other } });
    } catch (problem) {
      setState({ kind: 'failed', reason: explain(problem) });
    }
  };

  return (
    <form onSubmit={submit} className="compare-again" aria-labelledby="run-again">
      <h2 id="run-again">Run again</h2>
      <p className="quiet">
        Answers the message again in a new session, with the app as it is now. This calls the model. Tools are answered
        from the recording; a call that was not recorded fails.
      </p>
      <label>
        Model{' '}
        <input
          className="field"
          name="model"
          placeholder={[...agents.values()].find((each) => each.model)?.model || "each agent's own"}
        />
      </label>
      {agents.size > 0 && (
        <label>
          Instruction of
          <select
            className="field"
            value={agent}
            onChange={(event) => {
              setAgent(event.target.value);
              setText(agents.get(event.target.value)?.instruction ?? '');
            }}
          >
            <option value="">no agent</option>
            {[...agents.keys()].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {agent && (
        <textarea
          className="field mono"
          rows={8}
          aria-label={`Instruction of ${agent}`}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      <label className="compare-all">
        <input type="checkbox" name="live" /> Re-run tools (side effects repeat)
      </label>
      <button type="submit" className="button" data-look="primary" disabled={state.kind === 'running'}>
        {state.kind === 'running' ? 'Running…' : 'Run again and compare'}
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
        Compare
      </a>
    </div>
  );
}

/** Return the agents of a run's app with their instructions; none where they cannot be seen. */
function useAgents(run: string): ReadonlyMap<string, AgentDetail> {
  const load = async (signal: AbortSignal) => {
    const { app } = await getJson<{ app: string }>(path('api', 'runs', run), signal);
    return getJson<Record<string, AgentDetail>>(`${path('api', 'apps', app)}/agents`, signal);
  };
  // Where it fails, running again says why.
  const { data = {} } = useServerData(['agents of a run', run], load);
  return new Map(Object.entries(data).filter(([, detail]) => detail.instruction));
}
