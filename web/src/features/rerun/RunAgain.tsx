/**
 * A run's message answered again with edits, and what differs then. Nothing is called or paid as long as the recording
 * has the answer: tools and models are answered from it unless somebody wants otherwise.
 */
import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { useServerData } from '../../app/query';
import { linkTo } from '../../app/route';
import { explain, getJson, path } from '../../app/server';
import type { AgentDetail } from '../../film/appGraph';
import { plural } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { useComparison } from '../compare/comparison';
import { Difference, Differs } from '../compare/Difference';
import { draftOf, keepDraft } from './drafts';
import { begin, bodyOf, result, stop, type EditedCall, type Edits, type Rerun } from './rerun';
import './rerun.css';

type State =
  | { kind: 'ready' }
  /** `run` is empty until the first run has begun. */
  | { kind: 'running'; run: string }
  | { kind: 'failed'; reason: string }
  | { kind: 'done'; rerun: Rerun };

type Props = {
  run: string;
  /** What the user said; absent where it is not known here. */
  message?: string;
  /** Whose instruction is edited at first. */
  agent?: string;
  /** The selected call of a tool. */
  call?: EditedCall | null;
  /** The selected step: what is typed is kept for each. */
  step?: string;
};

export function RunAgain({ run, message = '', agent = '', call = null, step = '' }: Props) {
  const agents = useAgents(run);
  const key = `${run} ${step}`;
  const [cleared, setCleared] = useState(0);
  const { typed, agent: before } = draftOf(key);
  const [chosen, setChosen] = useState(before || agent);
  const name = agents.has(chosen) ? chosen : ([...agents.keys()][0] ?? '');
  const known = agents.get(name);
  const { state, start, cancel } = useRerun(run, key);
  const instruction = known?.instruction ?? '';

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget)) as Partial<Edits>;
    start(() => bodyOf({ ...EMPTY, ...given, agent: name }, { instruction, message, call }));
  };
  const type = ({ target }: FormEvent<HTMLFormElement>) => {
    const { name: field, value, dataset } = target as HTMLInputElement;
    if (field) keepDraft(key, { typed: { ...draftOf(key).typed, [dataset.draft ?? field]: value } });
  };
  const choose = (next: string) => {
    keepDraft(key, { agent: next });
    setChosen(next);
  };
  const reset = () => {
    keepDraft(key, { typed: {} });
    setCleared(cleared + 1);
  };
  return (
    <div className="rerun">
      <form key={cleared} onSubmit={submit} onInput={type} className="rerun-form">
        <h2>Edit and run again</h2>
        <p className="quiet">
          Runs the message again in a new session, with the app as it is now. Recorded answers of models and tools are
          used until something you change makes them different.
        </p>
        {call && (
          <Area
            name="call"
            title={`Arguments of ${call.tool}`}
            rows={6}
            value={typed.call ?? JSON.stringify(call.recorded, null, 2)}
          />
        )}
        {message && <Area name="message" title="Message" rows={3} value={typed.message ?? message} />}
        {agents.size > 1 && (
          <label>
            Agent
            <select className="field" value={name} onChange={(event) => choose(event.currentTarget.value)}>
              {[...agents.keys()].map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        )}
        {known && (
          <Area
            key={name}
            name="instruction"
            draft={`instruction ${name}`}
            title={`Instruction of ${name}`}
            rows={8}
            value={typed[`instruction ${name}`] ?? instruction}
          />
        )}
        <div className="rerun-fields">
          <label>
            Model of all agents
            <input
              className="field mono"
              name="model"
              defaultValue={typed.model}
              placeholder={known?.model || "each agent's own"}
            />
          </label>
          {known && (
            <Area
              key={name}
              name="parameters"
              draft={`parameters ${name}`}
              title={`Parameters of ${name}`}
              rows={1}
              value={typed[`parameters ${name}`] ?? ''}
              hint='{"temperature": 0.2, "maxOutputTokens": 500}'
            />
          )}
        </div>
        <div className="rerun-fields">
          <Choice name="models" title="Models" choices={MODELS} value={typed.models} />
          <Choice name="tools" title="Tools" choices={TOOLS} value={typed.tools} />
        </div>
        <div className="actions">
          <button type="submit" className="button" data-look="primary" disabled={state.kind === 'running'}>
            <Icon name="play" /> {state.kind === 'running' ? 'Running…' : 'Run again'}
          </button>
          {state.kind === 'running' && (
            <button type="button" className="button" onClick={cancel}>
              Cancel
            </button>
          )}
          <button type="button" className="button" data-look="quiet" onClick={reset}>
            Reset
          </button>
        </div>
      </form>
      {state.kind === 'failed' && (
        <Notice kind="error">
          <p>{state.reason}</p>
        </Notice>
      )}
      {state.kind === 'done' && <Result key={state.rerun.run} rerun={state.rerun} run={run} />}
    </div>
  );
}

const EMPTY: Edits = {
  agent: '',
  instruction: '',
  model: '',
  parameters: '',
  message: '',
  call: '',
  models: 'auto',
  tools: 'recorded',
};

const MODELS: readonly (readonly [string, string])[] = [
  ['auto', 'Recorded, then live where it differs'],
  ['recorded', 'Recorded only: stop where it differs'],
  ['live', 'Live'],
];

const TOOLS: readonly (readonly [string, string])[] = [
  ['recorded', 'Recorded only'],
  ['auto', 'Recorded, others are run'],
  ['live', 'Re-run tools (side effects repeat)'],
];

type ChoiceProps = { name: string; title: string; choices: typeof MODELS; value: string | undefined };

function Choice({ name, title, choices, value }: ChoiceProps) {
  return (
    <label>
      {title}
      <select className="field" name={name} defaultValue={value ?? choices[0]![0]}>
        {choices.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

type AreaProps = {
  name: string;
  title: string;
  rows: number;
  value: string;
  hint?: string /** Its name among the drafts, where that is another. */;
  draft?: string;
};

function Area({ name, title, rows, value, hint, draft }: AreaProps) {
  return (
    <label>
      {title}
      <textarea
        className="field mono"
        name={name}
        data-draft={draft}
        aria-label={title}
        rows={rows}
        defaultValue={value}
        placeholder={hint}
        spellCheck={false}
      />
    </label>
  );
}

function Notice({ kind, children }: { kind: 'error' | 'approval'; children: ReactNode }) {
  return (
    <div className="notice" data-kind={kind} role="alert">
      <Icon name={kind === 'error' ? 'error' : 'neutral'} />
      <div>{children}</div>
    </div>
  );
}

/** What became of it, and what differs from the recorded run. */
function Result({ rerun, run }: { rerun: Rerun; run: string }) {
  const at = Math.max(0, rerun.recorded.indexOf(run));
  const [a, b] = [rerun.recorded[at] ?? run, rerun.runs[at] ?? rerun.runs.at(-1) ?? rerun.run];
  const { data, error } = useComparison(a, b);
  const { models, warnings } = rerun;
  const head = useRef<HTMLHeadingElement>(null);
  const isLoaded = data !== undefined;
  useEffect(() => {
    if (!isLoaded) return;
    head.current?.focus({ preventScroll: true });
    head.current?.scrollIntoView({ block: 'start' });
  }, [isLoaded]);
  return (
    <div className="rerun-result">
      <header className="compare-head">
        <h2 ref={head} tabIndex={-1}>
          Recorded (A) and new (B)
        </h2>
        {data && <Differs compared={data} />}
        <span className="actions">
          <a className="button" data-look="quiet" href={linkTo({ kind: 'run', run: b })}>
            Open the new run
          </a>
          <a className="button" data-look="quiet" href={linkTo({ kind: 'compare', a, b })}>
            Compare on a page
          </a>
        </span>
      </header>
      {models && (
        <p className="quiet">
          {`${plural(models.recorded, 'model call')} recorded, ${models.live} live.`}
          {models.difference && ` ${models.difference.detail}`}
        </p>
      )}
      {warnings.length > 0 && (
        <Notice kind="approval">
          <ul>
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
      {error && <Notice kind="error">{explain(error)}</Notice>}
      {!data && !error && <div className="skeleton card-skeleton" />}
      {data?.b.outcome === 'failed' && (
        <Notice kind="error">{`The new run failed${data.b.code ? ` (${data.b.code})` : ''}.`}</Notice>
      )}
      {data?.b.outcome === 'cancelled' && <Notice kind="approval">You cancelled the new run.</Notice>}
      {data && <Difference compared={data} />}
    </div>
  );
}

type Rerunning = { state: State; start(body: () => Record<string, unknown>): void; cancel(): void };

/** Run a message again and wait for its end; whoever leaves lets it run, and finds it again. */
function useRerun(run: string, key: string): Rerunning {
  const [state, setState] = useState<State>(() => {
    const begun = draftOf(key).run;
    return begun ? { kind: 'running', run: begun } : { kind: 'ready' };
  });
  const leaving = useRef(new AbortController());
  const fail = (error: unknown) => {
    if (leaving.current.signal.aborted) return;
    keepDraft(key, { run: '' });
    setState({ kind: 'failed', reason: explain(error) });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever comes back finds the result, once
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    const begun = draftOf(key).run;
    if (begun) result(begun, controller.signal).then((rerun) => setState({ kind: 'done', rerun }), fail);
    return () => controller.abort();
  }, [key]);
  const start = async (body: () => Record<string, unknown>) => {
    const { signal } = leaving.current;
    try {
      const wanted = body();
      setState({ kind: 'running', run: '' });
      const begun = await begin(run, wanted, signal);
      keepDraft(key, { run: begun.run });
      setState({ kind: 'running', run: begun.run });
      setState({ kind: 'done', rerun: await result(begun.run, signal) });
    } catch (error) {
      fail(error);
    }
  };
  // Until the run has begun there is nothing to stop: the answer is no longer waited for.
  const cancel = () => {
    if (state.kind !== 'running') return;
    if (state.run) {
      stop(state.run).catch(fail);
      return;
    }
    leaving.current.abort();
    leaving.current = new AbortController();
    setState({ kind: 'ready' });
  };
  return { state, start: (body) => void start(body), cancel };
}

/** Return the agents of a run's app with their instructions; none where they cannot be seen. */
function useAgents(run: string): ReadonlyMap<string, AgentDetail> {
  const load = async (signal: AbortSignal) => {
    const { app } = await getJson<{ app: string }>(path('api', 'runs', run), signal);
    return getJson<Record<string, AgentDetail>>(`${path('api', 'apps', app)}/agents`, signal);
  };
  // Where it fails, running again says why.
  const { data = {} } = useServerData(['agents of a run', run], load);
  return new Map(Object.entries(data).filter(([, { model, instruction }]) => model || instruction));
}
