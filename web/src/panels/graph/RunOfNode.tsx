/** One run of a node: what it got, said, called, passed on, and changed in the state. */
import type { ReactNode } from 'react';
import type { Said } from '../../film/conversation';
import type { Film } from '../../film/film';
import { nodeRunAt, type NodeRun } from '../../film/nodeRuns';
import { callsAt, endOf, type NodeItem } from '../../film/timeline';
import { Details } from '../../ui/Details';
import { Json } from '../../ui/Json';
import { duration } from '../../ui/format';
import { callTokens } from '../../ui/tokens';
import { EventLink } from '../EventLink';
import type { PanelProps } from '../panel';
import { Words } from './NodeDetails';
import * as words from '../../words/graph';

type Props = Pick<PanelProps, 'at' | 'seek' | 'inspect'> & { film: Film; item: NodeItem; number: number; isOpen: boolean };

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
          <b>{words.run(number)}</b>{' '}
          <span className="muted" data-kind={run.status === 'failed' ? 'error' : undefined}>
            {[run.status, run.error, duration(run.duration), run.lane && words.branch(run.lane)].filter(Boolean).join(' · ')}
          </span>
        </>
      }
    >
      {() => (
        <>
          <p className="muted">
            {words.fromColumn} <EventLink cursor={item.since} seek={seek} />
            {end && (
              <>
                {` ${words.toWord} `}
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
  if (isEmpty) return <p className="muted">{words.nothingOfWhatWent}</p>;
  return (
    <>
      {(asked || received.length > 0) && (
        <Part title={words.input}>
          {asked && (asked.earlier ? <p className="muted">{words.callWasMade}</p> : <Json name="arguments" value={asked.input} open={2} />)}
          {received.map(({ from, value }, index) => (
            <Value key={index} name={`from ${from}`} value={value} />
          ))}
        </Part>
      )}
      {calls.length > 0 && (
        <Part title={words.modelCalls}>
          {calls.map((call) => (
            <p key={call.cursor}>
              <button type="button" className="link" title={words.openInTheModelPanel} onClick={() => (seek(call.cursor), inspect('model'))}>
                {call.model || words.modelWord}{words.commaEvent} {call.cursor}
              </button>{' '}
              <span className="muted">{[duration(call.durationMs / 1000), callTokens(call.tokens), call.error].filter(Boolean).join(' · ')}</span>
            </p>
          ))}
        </Part>
      )}
      {said.length > 0 && (
        <Part title={words.saidAndCalled}>
          {said.slice(0, SHOWN).map((one, index) => (
            <Spoken key={index} said={one} seek={seek} />
          ))}
          {said.length > SHOWN && <p className="muted">{words.firstOfAreShown(SHOWN, said.length)}</p>}
        </Part>
      )}
      {(outputs.length > 0 || answer !== undefined && answer !== null) && (
        <Part title={words.output}>
          {outputs.map((value, index) => (
            <Value key={index} value={value} />
          ))}
          {outputs.length === 0 && <Value value={answer} name={asked!.error !== undefined ? 'error' : 'result'} />}
        </Part>
      )}
      {changes.length > 0 && (
        <Part title={words.stateBeforeAndAfter}>
          {changes.slice(0, SHOWN).map(({ key, kind, before, after, writer }) => (
            <div key={key} className="state-change">
              <b>{key}</b> <span className="muted">{`${kind}${writer && writer !== run.name ? ` ${words.byWriter(writer)}` : ''}`}</span>
              {kind !== 'added' && <Json name="before" value={before} open={0} />}
              {kind !== 'removed' && <Json name="after" value={after} open={0} />}
            </div>
          ))}
          {changes.length > SHOWN && <p className="muted">{words.firstChangesAreShown(SHOWN, changes.length)}</p>}
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
  if (typeof value !== 'string') return <Json name={name} value={value} open={2} />;
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
        {kind === 'call' ? words.call(String(status)) : kind} · <EventLink cursor={since} seek={seek} />
      </span>
      {typeof text === 'string' && <Words text={text} />}
      {kind === 'call' && <Json name={String(name)} value={input} open={1} />}
      {output !== undefined && <Json name="result" value={output} open={1} />}
      {(error ?? reason) !== undefined && <Words text={String(error ?? reason)} />}
    </div>
  );
}
