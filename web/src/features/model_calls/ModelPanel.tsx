/** The model call that was chosen, or the one at the playhead: what was sent, what came back, and what changed since the agent's last one. */
import { useState } from 'react';
import { linkTo, useRoute } from '../../app/route';
import type { Film } from '../../film/film';
import { placeOf } from '../../film/joined';
import { callsAt, type CallView } from '../../film/timeline';
import {
  differenceOf,
  lostIn,
  toolsOf,
  type Difference,
  useCompaction,
  useModelCall,
  type Content,
  type ModelCall,
  type ModelRequest,
} from './modelCalls';
import { Copy } from '../../ui/Copy';
import { Details, Empty, PanelHeader } from '../../ui/elements';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { compact, duration, plural, callTokens, costWords, number } from '../../ui/format';
import { ContextWindow } from './ContextWindow';
import { middle } from '../../ui/wordDiff';
import type { PanelProps } from '../feature';
import { allSteps, type Step } from '../tree/steps';
import '../../style/panels.css';
import './model.css';

type Props = PanelProps & {
  /** Show another call; without it, its step is selected. */
  choose?(step: Step): void;
};

export default function ModelPanel({ film, at, step, seek, choose }: Props) {
  const select = useSelect();
  const moment = useMoment(film, at, step);
  const calls = callsAt(film, film.last);
  const done = callsAt(film, moment);
  const call = done.at(-1) ?? null;
  const before = call ? (done.slice(0, -1).findLast((each) => each.agent === call.agent) ?? null) : null;
  const state = useModelCall(...storedAt(film, call?.kept ? call : null));
  const previous = useModelCall(...storedAt(film, call?.kept && before?.kept ? before : null));
  const earlier = useModelCall(...storedAt(film, call?.kept && !before ? call : null), 'previous');
  const last = [previous, earlier].flatMap((found) => (found?.kind === 'there' ? [found.call] : []))[0] ?? null;
  const there = state?.kind === 'there' ? state.call : null;
  return (
    <section className="panel model-panel" aria-label="Model">
      <PanelHeader
        title="Model"
        count={calls.length ? `call ${number(done.length)} of ${number(calls.length)}` : undefined}
      >
        {calls.length > 0 && <Steps film={film} calls={calls} current={call} choose={choose ?? select} />}
        {there && <Copy label="Copy as JSON" text={() => JSON.stringify(there, null, 2)} />}
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label="Model call">
        {call ? (
          <Summary call={call} priced={there} travel={moment === at ? null : seek} />
        ) : (
          <NoCall captured={film.captured || film.uploaded} later={calls.length > 0} />
        )}
        {call && !call.kept && (
          <Empty title="Only a summary was recorded">
            Start the server with --model-calls full to record requests and responses. Those of live runs are not known.
          </Empty>
        )}
        {state?.kind === 'loading' && <div className="skeleton" role="status" aria-label="Loading the model call" />}
        {state?.kind === 'missing' && <Empty title="The request is not available">{state.why}</Empty>}
        {there?.request && call && (
          <ContextWindow
            request={there.request}
            before={last?.request ?? null}
            tokens={call.tokens}
            size={there.window}
            calls={done.filter(({ agent }) => agent === call.agent)}
          />
        )}
        {there?.request && call?.kept && isCompacted(there.request) && (
          <Compacted request={there.request} place={storedAt(film, call)} />
        )}
        {there?.request && <Whole call={there} request={there.request} before={last} />}
      </div>
    </section>
  );
}

/** Select the step of a call: it is looked at here, and the playhead stays where it is. */
function useSelect(): (step: Step) => void {
  const [{ options }, move] = useRoute();
  return (step) => move({ options: { ...options, step: step.id } }, 'replace');
}

/** Return the moment whose call is shown: that of the selected call, until the playhead moves; then the playhead's. */
function useMoment(film: Film, at: number, step: Step | null): number {
  const id = step?.kind === 'model' ? step.id : null;
  const place = at < film.last ? at : null; // At the end of a live run it moves by itself.
  const [chosen, setChosen] = useState({ id, place });
  if (chosen.id !== id) setChosen({ id, place });
  return step && id !== null && chosen.place === place ? step.since : at;
}

/** Where the server has a call. */
function storedAt(film: Film, call: CallView | null): [run: string, cursor: number | null] {
  if (!call) return [film.run, null];
  const { run, cursor } = placeOf(film, call.cursor);
  return [run, cursor];
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

type StepsProps = { film: Film; calls: CallView[]; current: CallView | null; choose(step: Step): void };

function Steps({ film, calls, current, choose }: StepsProps) {
  const show = (cursor: number) => {
    const step = allSteps(film).find(({ kind, since }) => kind === 'model' && since === cursor);
    if (step) choose(step);
  };
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
      onClick={() => to && show(to.cursor)}
    >
      {sign}
    </button>
  );
  return (
    <>
      <select
        className="field"
        aria-label="Model call of this answer"
        value={current?.cursor ?? ''}
        onChange={(event) => show(Number(event.currentTarget.value))}
      >
        {current === null && <option value="">none yet</option>}
        {calls.map(({ cursor, agent, durationMs, tokens }, number) => (
          <option key={cursor} value={cursor}>
            {[
              `${number + 1}. ${agent || 'agent'}`,
              duration(durationMs / 1000),
              tokens.total && `${compact(tokens.total)} tokens`,
            ]
              .filter(Boolean)
              .join(' · ')}
          </option>
        ))}
      </select>
      {step('Previous model call', calls[index - 1], '‹')}
      {step('Next model call', calls[index + 1], '›')}
    </>
  );
}

type SummaryProps = { call: CallView; priced: ModelCall | null; travel: ((cursor: number) => void) | null };

function Summary({ call, priced, travel }: SummaryProps) {
  const said = callTokens(call.tokens);
  const { currency, pricesAsOf } = priced ?? {};
  const prices = [currency, pricesAsOf && `(prices as of ${pricesAsOf})`].filter(Boolean).join(' ');
  const cost = [costWords(call.cost), typeof call.cost === 'number' && prices].filter(Boolean).join(' ');
  const tokens = [said, said && (cost || 'no price is known for this model')].filter(Boolean).join(' · ');
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
      {travel && (
        <button
          type="button"
          className="button"
          title="Show the conversation as it was at this call"
          onClick={() => travel(call.cursor)}
        >
          <Icon name="clock" /> Travel here
        </button>
      )}
    </div>
  );
}

function Whole({ call, request, before }: { call: ModelCall; request: ModelRequest; before: ModelCall | null }) {
  const { systemInstruction, ...config } = request.config;
  const tools = toolsOf(request);
  const difference = before?.request ? differenceOf(before.request, request) : null;
  const answer = contentOf(call.response);
  return (
    <>
      {call.cut && <p className="section muted">{`Too large to be kept whole: ${call.cut.join(', ')}.`}</p>}
      {difference && <Changed difference={difference} run={before?.run} />}
      {systemInstruction !== undefined && (
        <Part title="Instruction" open>
          {() => <Text value={systemInstruction} />}
        </Part>
      )}
      <Part title="Tools" count={tools.size}>
        {() => [...tools].map(([name, declaration]) => <Declared key={name} name={name} declaration={declaration} />)}
      </Part>
      <Part title="Messages" count={request.contents.length} open>
        {() => <Messages contents={request.contents} first={0} newFrom={difference?.same} />}
      </Part>
      <Part title="Response" open>
        {() => (answer ? <Messages contents={[answer]} first={0} /> : <JsonView value={call.response} open={4} />)}
      </Part>
      <Part title="Parameters" count={Object.keys(config).length}>
        {() => <JsonView value={config} open={2} />}
      </Part>
      <Part title="Raw">
        {() => (
          <>
            <JsonView name="request" value={request} open={1} />
            <JsonView name="response" value={call.response} open={2} />
          </>
        )}
      </Part>
    </>
  );
}

/** Whether the window may begin with a summary of ADK's: what was said begins with the user. */
function isCompacted({ contents }: ModelRequest): boolean {
  return contents[0]?.role === 'model';
}

/** Where ADK has put a summary in the place of messages: the summary, and what the window had before it. */
function Compacted({ request, place: [run, cursor] }: { request: ModelRequest; place: [string, number | null] }) {
  const found = useCompaction(run, cursor);
  const summary = found && contentOf(found.compaction.response);
  const words = (content: Content | null) => JSON.stringify(content?.parts?.map(({ text }) => text ?? null));
  if (!found || !summary || !request.contents.some((each) => words(each) === words(summary))) return null;
  const before = found.before?.request ?? null;
  const lost = before ? lostIn(before, request) : [];
  const { startTimestamp: since, endTimestamp: until } = found.times;
  const time = (at: number) => new Date(at * 1000).toLocaleTimeString();
  return (
    <Part title="Compacted" open>
      {() => (
        <>
          <p className="muted">
            {`ADK has put a summary in the place of what was said`}
            {since && until ? ` from ${time(since)} to ${time(until)}` : ''}.{' '}
            {found.compaction.run !== undefined && (
              <a href={linkTo({ kind: 'run', run: found.compaction.run }, 'model')}>
                It was made at the end of this run
              </a>
            )}
          </p>
          <Text value={summary.parts?.map(({ text }) => (typeof text === 'string' ? text : '')).join('')} />
          {lost.length > 0 && (
            <Details summary={`What the model no longer sees: ${plural(lost.length, 'message')}`}>
              {() => (
                <div className="change" data-change="removed">
                  <Messages contents={lost} first={0} />
                </div>
              )}
            </Details>
          )}
        </>
      )}
    </Part>
  );
}

/** The message that a response holds; null where it holds none. */
function contentOf(response: ModelCall['response']): Content | null {
  const content = response?.content;
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return null;
  return Array.isArray((content as Content).parts) ? (content as Content) : null;
}

/** A tool as it was declared: what it does, in words, and its schema on demand. */
function Declared({ name, declaration }: { name: string; declaration: unknown }) {
  const about = (declaration as { description?: unknown } | null)?.description;
  return (
    <Details
      summary={
        <>
          <code>{name}</code> {typeof about === 'string' && <span className="muted">{about.split('\n')[0]}</span>}
        </>
      }
    >
      {() => <JsonView value={declaration} open={3} />}
    </Details>
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
          {changes.map(({ what, before, after }) => (
            <Details
              key={what}
              open={what === 'systemInstruction'}
              summary={`${what === 'systemInstruction' ? 'Instruction' : what} ${before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'}`}
            >
              {() => <WordDiff before={before} after={after} />}
            </Details>
          ))}
        </>
      )}
    </Part>
  );
}

/** Two values: what is only in one of them is marked, word by word. */
function WordDiff({ before, after }: { before: unknown; after: unknown }) {
  const written = (value: unknown) =>
    value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const pieces = middle(written(before), written(after));
  return (
    <pre className="said">
      {pieces.before}
      {pieces.a && <del>{pieces.a}</del>}
      {pieces.b && <ins>{pieces.b}</ins>}
      {pieces.after}
    </pre>
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

type MessagesProps = {
  contents: (Content | null)[];
  first: number;
  /** Messages from this one on were not in the call before. */
  newFrom?: number;
};

function Messages({ contents, first, newFrom }: MessagesProps) {
  const from = Math.max(0, contents.length - SHOWN);
  const show = (content: Content | null, index: number) => (
    <Message
      key={index}
      number={first + index}
      content={content}
      isNew={newFrom !== undefined && first + index >= newFrom}
    />
  );
  return (
    <>
      {from > 0 && (
        <Details summary={plural(from, 'earlier message')}>
          {() => <ol className="contents">{contents.slice(0, from).map(show)}</ol>}
        </Details>
      )}
      <ol className="contents" start={first + from + 1}>
        {contents.slice(from).map((content, index) => show(content, from + index))}
      </ol>
    </>
  );
}

const ROLES: Readonly<Record<string, string>> = { user: 'User', model: 'Model', system: 'System', tool: 'Tool' };

function Message({ number, content, isNew }: { number: number; content: Content | null; isNew: boolean }) {
  const isResult = content?.parts?.some((part) => 'functionResponse' in part);
  const role = isResult ? 'Tool result' : (ROLES[content?.role ?? ''] ?? content?.role ?? 'unknown');
  return (
    <li data-role={isResult ? 'tool' : content?.role} data-new={isNew || undefined}>
      <span className="muted">
        {number + 1} · {role} {isNew && <b className="new">new in this call</b>}
      </span>
      {content ? (
        (content.parts ?? []).map((part, index) => <PartOf key={index} part={part} />)
      ) : (
        <p className="muted">not kept</p>
      )}
    </li>
  );
}

type Called = { name?: unknown; args?: unknown; response?: unknown };

function PartOf({ part }: { part: { [kind: string]: unknown } }) {
  const { text, functionCall, functionResponse, ...rest } = part;
  const more = Object.keys(rest).length > 0 && <JsonView value={rest} open={0} />;
  const called = (functionCall ?? functionResponse) as Called | undefined;
  if (called) {
    return (
      <>
        <p className="called">
          <KindChip kind="tool">{String(called.name ?? 'tool')}</KindChip>
        </p>
        <JsonView value={functionCall ? called.args : called.response} open={1} />
        {more}
      </>
    );
  }
  if (typeof text !== 'string') return <JsonView value={part} open={2} />;
  return (
    <>
      <Text value={text} />
      {more}
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
