/** The model call at the playhead: what was sent, what came back, and what changed since the agent's last one. */
import { linkTo } from '../../app/route';
import { callsAt, type CallView } from '../../film/timeline';
import { differenceOf, toolsOf, type Difference } from '../../film/callDifference';
import { useModelCall, type Content, type ModelCall, type ModelRequest } from '../../film/modelCalls';
import { Copy } from '../../ui/Copy';
import { Details } from '../../ui/Details';
import { Empty } from '../../ui/Empty';
import { Json } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { PanelHeader } from '../../ui/PanelHeader';
import { duration, plural } from '../../ui/format';
import { callTokens, costWords } from '../../ui/tokens';
import type { PanelProps } from '../panel';
import * as words from '../../words/model';
import '../panels.css';
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
    <section className="panel model-panel" aria-label={words.model}>
      <PanelHeader title={words.model} count={calls.length ? words.callOf(done.length, calls.length) : undefined}>
        {calls.length > 0 && <Steps calls={calls} current={call} seek={seek} />}
        {there && <Copy label={words.copyAsJson} text={() => JSON.stringify(there, null, 2)} />}
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label={words.modelCall}>
        {call ? <Summary call={call} /> : <NoCall captured={film.captured || film.uploaded} later={calls.length > 0} />}
        {call && !call.kept && <Empty title={words.onlyASummaryWasRecorded}>{words.startTheServerWithModel}</Empty>}
        {state?.kind === 'loading' && <div className="skeleton" role="status" aria-label={words.loadingTheModelCall} />}
        {state?.kind === 'missing' && <Empty title={words.requestIsNotAvailable}>{state.why}</Empty>}
        {there?.request && <Whole call={there} request={there.request} before={last} />}
      </div>
    </section>
  );
}

function NoCall({ captured, later }: { captured: boolean; later: boolean }) {
  if (later) return <Empty title={words.noModelCallYet}>{words.moveThePlayhead}</Empty>;
  return (
    <Empty title={words.noModelCalls}>
      {captured ? words.recordingDoesNotContainWhat : words.whatWasSentToModels}
    </Empty>
  );
}

function Steps({ calls, current, seek }: { calls: CallView[]; current: CallView | null; seek(cursor: number): void }) {
  const index = current ? calls.findIndex((each) => each.cursor === current.cursor) : -1;
  const step = (label: string, to: CallView | undefined, sign: string) => (
    <button type="button" className="button" data-look="quiet" data-square="" aria-label={label} title={label} disabled={!to} onClick={() => to && seek(to.cursor)}>
      {sign}
    </button>
  );
  return (
    <>
      {step(words.previousModelCall, calls[index - 1], '‹')}
      {step(words.nextModelCall, calls[index + 1], '›')}
    </>
  );
}

function Summary({ call }: { call: CallView }) {
  const tokens = [callTokens(call.tokens), costWords(call.cost)].filter(Boolean).join(' · ');
  return (
    <div className="section summary">
      <KindChip kind={call.error ? 'error' : 'text'}>{call.agent || words.agent}</KindChip>
      <strong>{call.model}</strong>
      <span className="muted">
        {[call.firstTokenMs === null ? '' : words.firstToken(duration(call.firstTokenMs / 1000)), words.total(duration(call.durationMs / 1000)), call.finish].filter(Boolean).join(' · ')}
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
      {call.cut && <p className="section muted">{words.tooLargeToBeKept(call.cut.join(', '))}</p>}
      {before?.request && <Changed difference={differenceOf(before.request, request)} run={before.run} />}
      {systemInstruction !== undefined && (
        <Part title={words.instruction} open>
          {() => <Text value={systemInstruction} />}
        </Part>
      )}
      <Part title={words.messages} count={request.contents.length} open>
        {() => <Messages contents={request.contents} first={0} />}
      </Part>
      <Part title={words.tools} count={tools.size}>
        {() => [...tools].map(([name, declaration]) => <Json key={name} name={name} value={declaration} open={0} />)}
      </Part>
      <Part title={words.config} count={Object.keys(config).length}>
        {() => <Json value={config} open={2} />}
      </Part>
      <Part title={words.response} open>
        {() => <Json value={call.response} open={4} />}
      </Part>
    </>
  );
}

function Changed({ difference: { same, added, removed, changes }, run }: { difference: Difference; run?: string }) {
  return (
    <Part title={words.sinceTheAgentsLastCall} open>
      {() => (
        <>
          {run !== undefined && (
            <p className="muted">
              {words.wasIn} <a href={linkTo({ kind: 'run', run }, 'model')}>{words.earlierRun}</a> {words.thisConversation}
            </p>
          )}
          <p className="muted">
            {plural(same, 'message')} {words.unchanged} {added.length} {words.added} {removed.length} {words.removed}
            {changes.length ? '' : words.instructionToolsAndConfigUnchanged}
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
            <Details key={what} summary={`${what} ${before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'}`}>
              {() => (
                <>
                  {before !== undefined && <div className="change" data-change="removed"><Text value={before} /></div>}
                  {after !== undefined && <div className="change" data-change="added"><Text value={after} /></div>}
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
        <Details summary={plural(from, words.earlierMessage)}>{() => contents.slice(0, from).map((content, index) => <Message key={index} number={first + index} content={content} />)}</Details>
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
        {number + 1} · {content?.role ?? words.unknown}
      </span>
      {content ? (content.parts ?? []).map((part, index) => <PartOf key={index} part={part} />) : <p className="muted">{words.notKept}</p>}
    </li>
  );
}

function PartOf({ part }: { part: { [kind: string]: unknown } }) {
  const { text, ...rest } = part;
  if (typeof text !== 'string') return <Json value={part} open={2} />;
  return (
    <>
      <Text value={text} />
      {Object.keys(rest).length > 0 && <Json value={rest} open={0} />}
    </>
  );
}

function Text({ value }: { value: unknown }) {
  return typeof value === 'string' && value.length < 20_000 ? <pre className="said">{value}</pre> : <Json value={value} open={2} />;
}
