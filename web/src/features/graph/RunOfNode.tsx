/** One run of a node: what it got, said, called, passed on, and changed in the state. */
import type { ReactNode } from 'react';
import { type Said, conversationAt, saidAt, type SaidItem } from '../../film/conversation';
import { type Film, upTo, grouped, once } from '../../film/film';
import { callsAt, endOf, type NodeItem, nodeAt, timeAt, type NodeView } from '../../film/timeline';
import { Details, EventLink } from '../../ui/elements';
import { JsonView } from '../../ui/Json';
import { duration, callTokens } from '../../ui/format';
import type { PanelProps } from '../feature';
import { Words } from './NodeDetails';
import type { Json } from '@adk-prism/client/film';
import { callsThatRun, passagesAt } from '../../film/graph';
import { difference, type KeyChange } from '../../film/state';

/**
 * Each time a node ran: what it got, said, called and passed on, at a cursor. The rules are those of
 * `features/page/graph.py`.
 */
type Received = { from: string; value: Json };
type NodeRun = NodeView & {
  /** The call that runs it. */
  asked: Said | null;
  received: Received[];
  said: Said[];
  outputs: Json[];
  changes: KeyChange[];
  /** Cursors of its model calls. */
  modelCalls: number[];
};

/** Return the runs of the nodes with a name, whenever they are, in order. */
export function runsOf(film: Film, name: string): readonly NodeItem[] {
  return byName(film).get(name) ?? [];
}

const byName = once((film: Film) => grouped(film.items.nodes, ({ is }) => is.name));
const byNode = once((film: Film) => grouped(film.items.said, ({ is }) => is.node ?? ''));
const users = once((film: Film) => film.items.said.filter(({ is }) => is.kind === 'user'));
const callsOf = once((film: Film) => grouped(film.items.calls ?? [], ({ is }) => is.node));

/** The nodes that led to each, one after the other. */
const before = once((film: Film): Map<string, NodeItem[]> => {
  const known = new Map(film.items.nodes.map((node) => [node.is.node, node]));
  const found = new Map<string, NodeItem[]>();
  for (const { from, to, kind } of passagesAt(film, film.last)) {
    const node = kind === 'sequence' ? known.get(from) : undefined;
    if (node) found.set(to, [...(found.get(to) ?? []), node]);
  }
  return found;
});

/** Return a run of a node that had started at a cursor, as it was then. */
export function nodeRunAt(film: Film, item: NodeItem, at: number): NodeRun {
  const view = nodeAt(item, at, timeAt(film, at));
  const call = callsThatRun(film).get(view.node);
  return {
    ...view,
    asked: call && call.since <= at ? saidAt(call, at) : null,
    received: receivedBy(film, item, at),
    said: saidBy(film, view.node, at),
    outputs: outputsAt(item, at),
    changes: difference(film, view.since, view.until ?? at),
    modelCalls: (callsOf(film).get(view.node) ?? []).map(({ since }) => since).filter((since) => since <= at),
  };
}

function saidBy(film: Film, node: string, at: number): Said[] {
  return conversationAt({ items: { said: byNode(film).get(node) ?? [] } }, at);
}

function receivedBy(film: Film, item: NodeItem, at: number): Received[] {
  const values = (before(film).get(item.is.node) ?? []).flatMap((node) =>
    given(film, node, item.since, at).map((value) => ({ from: node.is.name, value })),
  );
  if (values.length || item.is.parent) return values;
  const asked: SaidItem | undefined = users(film).findLast(({ since }) => since <= item.since);
  return asked ? [{ from: 'user', value: asked.is.text as Json }] : [];
}

/** What a node had passed on when another started: its outputs, or its last words. */
function given(film: Film, node: NodeItem, cursor: number, at: number): Json[] {
  const outputs = outputsAt(node, cursor);
  if (outputs.length) return outputs;
  const text = saidBy(film, node.is.node, at).findLast(({ kind, since }) => kind === 'text' && since <= cursor);
  return text ? [text.text as Json] : [];
}

function outputsAt(node: NodeItem, at: number): Json[] {
  return upTo(node.marks, at).flatMap(([, news]) => ('output' in news ? [news.output] : []));
}

type Props = Pick<PanelProps, 'at' | 'seek' | 'inspect'> & {
  film: Film;
  item: NodeItem;
  number: number;
  isOpen: boolean;
};

export function RunOfNode({ film, at, item, number, isOpen, seek, inspect }: Props) {
  const run = nodeRunAt(film, item, at);
  const end = endOf(item);
  return (
    <Details
      key={String(isOpen)}
      className="section run-of-node"
      open={isOpen}
      summary={
        <>
          <b>{`Run ${number}`}</b>{' '}
          <span className="muted" data-kind={run.status === 'failed' ? 'error' : undefined}>
            {[run.status, run.error, duration(run.duration), run.lane && `branch ${run.lane}`]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </>
      }
    >
      {() => (
        <>
          <p className="muted">
            From <EventLink cursor={item.since} seek={seek} />
            {end && (
              <>
                {` to `}
                <EventLink cursor={end.cursor} seek={seek} />
              </>
            )}
          </p>
          <Inside film={film} at={at} run={run} seek={seek} inspect={inspect} />
        </>
      )}
    </Details>
  );
}

type InsideProps = Pick<PanelProps, 'at' | 'seek' | 'inspect'> & { film: Film; run: NodeRun };

function Inside({ film, at, run, seek, inspect }: InsideProps) {
  const { asked, received, said, outputs, changes } = run;
  const calls = callsAt(film, at).filter(({ cursor }) => run.modelCalls.includes(cursor));
  const answer = asked && (asked.output ?? asked.error ?? asked.reason);
  const isEmpty = !asked && ![received, said, outputs, changes, calls].some((list) => list.length);
  if (isEmpty) return <p className="muted">Nothing of what went in or out was recorded.</p>;
  return (
    <>
      {(asked || received.length > 0) && (
        <Part title="Input">
          {asked &&
            (asked.earlier ? (
              <p className="muted">The call was made in an earlier run.</p>
            ) : (
              <JsonView name="arguments" value={asked.input} open={2} />
            ))}
          {received.map(({ from, value }, index) => (
            <Value key={index} name={`from ${from}`} value={value} />
          ))}
        </Part>
      )}
      {calls.length > 0 && (
        <Part title="Model calls">
          {calls.map((call) => (
            <p key={call.cursor}>
              <button
                type="button"
                className="link"
                title="Open in the Model panel"
                onClick={() => {
                  seek(call.cursor);
                  inspect('model');
                }}
              >
                {call.model || 'model'}
                {', event'} {call.cursor}
              </button>{' '}
              <span className="muted">
                {[duration(call.durationMs / 1000), callTokens(call.tokens), call.error].filter(Boolean).join(' · ')}
              </span>
            </p>
          ))}
        </Part>
      )}
      {said.length > 0 && (
        <Part title="Said and called">
          {said.slice(0, SHOWN).map((one, index) => (
            <Spoken key={index} said={one} seek={seek} />
          ))}
          {said.length > SHOWN && (
            <p className="muted">{`The first ${SHOWN} of ${said.length} are shown; the conversation has all.`}</p>
          )}
        </Part>
      )}
      {(outputs.length > 0 || (answer !== undefined && answer !== null)) && (
        <Part title="Output">
          {outputs.map((value, index) => (
            <Value key={index} value={value} />
          ))}
          {outputs.length === 0 && <Value value={answer} name={asked!.error !== undefined ? 'error' : 'result'} />}
        </Part>
      )}
      {changes.length > 0 && (
        <Part title="State, before and after">
          {changes.slice(0, SHOWN).map(({ key, kind, before, after, writer }) => (
            <div key={key} className="state-change">
              <b>{key}</b>{' '}
              <span className="muted">{`${kind}${writer && writer !== run.name ? ` ${`by ${writer}`}` : ''}`}</span>
              {kind !== 'added' && <JsonView name="before" value={before} open={0} />}
              {kind !== 'removed' && <JsonView name="after" value={after} open={0} />}
            </div>
          ))}
          {changes.length > SHOWN && (
            <p className="muted">{`The first ${SHOWN} of ${changes.length} are shown; the state panel has all.`}</p>
          )}
        </Part>
      )}
    </>
  );
}

const SHOWN = 60; // Texts and calls of one run of a node, and changes that it made.

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="part-of-run">
      <h4>{title}</h4>
      {children}
    </section>
  );
}

function Value({ name, value }: { name?: string; value: unknown }) {
  if (typeof value !== 'string') return <JsonView name={name} value={value} open={2} />;
  return (
    <>
      {name && <span className="muted">{name}</span>}
      <Words text={value} />
    </>
  );
}

function Spoken({ said, seek }: { said: Said; seek(cursor: number): void }) {
  const { kind, since, text, name, input, output, status, error, reason } = said;
  return (
    <div className="spoken">
      <span className="muted">
        {kind === 'call' ? `call, ${String(status)}` : kind} · <EventLink cursor={since} seek={seek} />
      </span>
      {typeof text === 'string' && <Words text={text} />}
      {kind === 'call' && <JsonView name={String(name)} value={input} open={1} />}
      {output !== undefined && <JsonView name="result" value={output} open={1} />}
      {(error ?? reason) !== undefined && <Words text={String(error ?? reason)} />}
    </div>
  );
}
