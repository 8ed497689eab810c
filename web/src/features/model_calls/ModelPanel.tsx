/** The model call at the playhead: what was sent, what came back, and what changed since the agent's last one. */
import { linkTo } from '../../app/route';
import { callsAt, type CallView } from '../../film/timeline';
import {
  differenceOf,
  toolsOf,
  type Difference,
  useModelCall,
  type Content,
  type ModelCall,
  type ModelRequest,
} from './modelCalls';
import { Copy } from '../../ui/Copy';
import { Details, Empty, PanelHeader } from '../../ui/elements';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { duration, plural, callTokens, costWords } from '../../ui/format';
import type { PanelProps } from '../feature';
import '../../style/panels.css';
import './model.css';

export default function ModelPanel({ film, at, seek }: PanelProps) {
  const calls = callsAt(film, film.last);
  const done = callsAt(film, at);
  const call = done.at(-1) ?? null;
  const before = call ? (done.slice(0, -1).findLast((each) => each.agent === call.agent) ?? null) : null;
  const state = useModelCall(film.run, call?.kept ? call.cursor : null);
  const previous = useModelCall(film.run, call?.kept && before?.kept ? before.cursor : null);
  const earlier = useModelCall(film.run, call?.kept && !before ? call.cursor : null, 'previous');
  const last = [previous, earlier].flatMap((found) => (found?.kind === 'there' ? [found.call] : []))[0] ?? null;
  const there = state?.kind === 'there' ? state.call : null;
  return (
    <section className="panel model-panel" aria-label="Model">
      <PanelHeader title="Model" count={calls.length ? `call ${done.length} of ${calls.length}` : undefined}>
        {calls.length > 0 && <Steps calls={calls} current={call} seek={seek} />}
        {there && <Copy label="Copy as JSON" text={() => JSON.stringify(there, null, 2)} />}
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label="Model call">
        {call ? <Summary call={call} /> : <NoCall captured={film.captured || film.uploaded} later={calls.length > 0} />}
        {call && !call.kept && (
          <Empty title="Only a summary was recorded">
            Start the server with --model-calls full to record requests and responses. Those of live runs are not known.
          </Empty>
        )}
        {state?.kind === 'loading' && <div className="skeleton" role="status" aria-label="Loading the model call" />}
        {state?.kind === 'missing' && <Empty title="The request is not available">{state.why}</Empty>}
        {there?.request && <Whole call={there} request={there.request} before={last} />}
      </div>
    </section>
  );
}

function NoCall({ captured, later }: { captured: boolean; later: boolean }) {
  if (later) return <Empty title="No model call yet">Move the playhead on to see the first one.</Empty>;
  return (
    <Empty title="No model calls">
      {captured
        ? 'This recording does not contain what was sent to models.'
        : 'What was sent to models is recorded for apps that run in this server, unless --model-calls is off.'}
    </Empty>
  );
}

function Steps({ calls, current, seek }: { calls: CallView[]; current: CallView | null; seek(cursor: number): void }) {
  const index = current ? calls.findIndex((each) => each.cursor === current.cursor) : -1;
  const step = (label: string, to: CallView | undefined, sign: string) => (
    <button
      type="button"
      className="button"
      data-look="quiet"
      data-square=""
      aria-label={label}
      title={label}
      disabled={!to}
      onClick={() => to && seek(to.cursor)}
    >
      {sign}
    </button>
  );
  return (
    <>
      {step('Previous model call', calls[index - 1], '‹')}
      {step('Next model call', calls[index + 1], '›')}
    </>
  );
}

function Summary({ call }: { call: CallView }) {
  const tokens = [callTokens(call.tokens), costWords(call.cost)].filter(Boolean).join(' · ');
  return (
    <div className="section summary">
      <KindChip kind={call.error ? 'error' : 'text'}>{call.agent || 'agent'}</KindChip>
      <strong>{call.model}</strong>
      <span className="muted">
        {[
          call.firstTokenMs === null ? '' : `first token ${duration(call.firstTokenMs / 1000)}`,
          `total ${duration(call.durationMs / 1000)}`,
          call.finish,
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
      {tokens && <span className="muted">{tokens}</span>}
      {call.error && <span data-kind="error">{call.error}</span>}
    </div>
  );
}

function Whole({ call, request, before }: { call: ModelCall; request: ModelRequest; before: ModelCall | null }) {
  const { systemInstruction, ...config } = request.config;
  const tools = toolsOf(request);
  return (
    <>
      {call.cut && <p className="section muted">{`Too large to be kept whole: ${call.cut.join(', ')}.`}</p>}
      {before?.request && <Changed difference={differenceOf(before.request, request)} run={before.run} />}
      {systemInstruction !== undefined && (
        <Part title="Instruction" open>
          {() => <Text value={systemInstruction} />}
        </Part>
      )}
      <Part title="Messages" count={request.contents.length} open>
        {() => <Messages contents={request.contents} first={0} />}
      </Part>
      <Part title="Tools" count={tools.size}>
        {() =>
          [...tools].map(([name, declaration]) => <JsonView key={name} name={name} value={declaration} open={0} />)
        }
      </Part>
      <Part title="Config" count={Object.keys(config).length}>
        {() => <JsonView value={config} open={2} />}
      </Part>
      <Part title="Response" open>
        {() => <JsonView value={call.response} open={4} />}
      </Part>
    </>
  );
}

function Changed({ difference: { same, added, removed, changes }, run }: { difference: Difference; run?: string }) {
  return (
    <Part title="Since the agent's last call" open>
      {() => (
        <>
          {run !== undefined && (
            <p className="muted">
              It was in <a href={linkTo({ kind: 'run', run }, 'model')}>an earlier run</a> {'of this conversation.'}
            </p>
          )}
          <p className="muted">
            {plural(same, 'message')} unchanged, {added.length} added, {removed.length} {'removed'}
            {changes.length ? '' : '; instruction, tools and config unchanged'}
          </p>
          {removed.length > 0 && (
            <div className="change" data-change="removed">
              <Messages contents={removed} first={same} />
            </div>
          )}
          <div className="change" data-change="added">
            <Messages contents={added} first={same} />
          </div>
          {changes.map(({ what, before, after }) => (
            <Details
              key={what}
              summary={`${what} ${before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'}`}
            >
              {() => (
                <>
                  {before !== undefined && (
                    <div className="change" data-change="removed">
                      <Text value={before} />
                    </div>
                  )}
                  {after !== undefined && (
                    <div className="change" data-change="added">
                      <Text value={after} />
                    </div>
                  )}
                </>
              )}
            </Details>
          ))}
        </>
      )}
    </Part>
  );
}

type PartProps = { title: string; count?: number; open?: boolean; children: () => React.ReactNode };

function Part({ title, count, open = false, children }: PartProps) {
  return (
    <Details className="section" open={open} summary={<b>{count === undefined ? title : `${title} (${count})`}</b>}>
      {children}
    </Details>
  );
}

const SHOWN = 40; // Of a long conversation, the end is what is looked for.

function Messages({ contents, first }: { contents: (Content | null)[]; first: number }) {
  const from = Math.max(0, contents.length - SHOWN);
  return (
    <>
      {from > 0 && (
        <Details summary={plural(from, 'earlier message')}>
          {() =>
            contents
              .slice(0, from)
              .map((content, index) => <Message key={index} number={first + index} content={content} />)
          }
        </Details>
      )}
      <ol className="contents" start={first + from + 1}>
        {contents.slice(from).map((content, index) => (
          <Message key={index} number={first + from + index} content={content} />
        ))}
      </ol>
    </>
  );
}

function Message({ number, content }: { number: number; content: Content | null }) {
  return (
    <li>
      <span className="muted">
        {number + 1} · {content?.role ?? 'unknown'}
      </span>
      {content ? (
        (content.parts ?? []).map((part, index) => <PartOf key={index} part={part} />)
      ) : (
        <p className="muted">not kept</p>
      )}
    </li>
  );
}

function PartOf({ part }: { part: { [kind: string]: unknown } }) {
  const { text, ...rest } = part;
  if (typeof text !== 'string') return <JsonView value={part} open={2} />;
  return (
    <>
      <Text value={text} />
      {Object.keys(rest).length > 0 && <JsonView value={rest} open={0} />}
    </>
  );
}

function Text({ value }: { value: unknown }) {
  return typeof value === 'string' && value.length < 20_000 ? (
    <pre className="said">{value}</pre>
  ) : (
    <JsonView value={value} open={2} />
  );
}
