/** A call of a tool: who runs it, with what, what came of it. Open while somebody has to do something. */
import { Suspense, useState, type ComponentProps } from 'react';
import { lazyWithRetry } from '../../app/Failure';
import { Copy } from '../../ui/Copy';
import { Icon, type IconName } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import type { Kind } from '../../ui/Kind';
import { Traceback } from '../../ui/Traceback';
import { number, share } from '../../ui/format';
import { useActions, useRejectedAnswer, callNode, useRun } from '../ChatContext';
import { toolName, type CallNotes, type Progress, type ToolPart } from '../message';

// Few calls are answered by hand, or need an approval.
const LazyToolResultForm = lazyWithRetry(() => import('./ToolResultForm'));
const Approval = lazyWithRetry(() => import('./Approval'));

function ToolResultForm(props: ComponentProps<typeof LazyToolResultForm>) {
  return (
    <Suspense>
      <LazyToolResultForm {...props} />
    </Suspense>
  );
}

type Face = { word: string; kind: Kind; icon: IconName; busy?: boolean };

const FACES: Record<ToolPart['state'], Face> = {
  'input-streaming': { word: 'Preparing input', kind: 'tool', icon: 'tool', busy: true },
  'input-available': { word: 'Running', kind: 'tool', icon: 'tool', busy: true },
  'approval-requested': { word: 'Needs your approval', kind: 'approval', icon: 'approval' },
  'approval-responded': { word: 'Answered', kind: 'approval', icon: 'approval' },
  'output-available': { word: 'Done', kind: 'tool', icon: 'check' },
  'output-error': { word: 'Failed', kind: 'error', icon: 'error' },
  'output-denied': { word: 'Denied', kind: 'approval', icon: 'cross' },
};

type Props = { part: ToolPart; notes: CallNotes; live: boolean; last: boolean; reply?: string };

export function Tool({ part, notes, live, last, reply = '' }: Props) {
  const { isTalking } = useActions();
  // A long-running call that is left open is the client's, any other one the server's: it waits for somebody else.
  // Aloud the message goes on meanwhile.
  const isLeft = notes.longRunning && (!live || !!isTalking);
  const waits = part.state === 'input-available' && isLeft && !part.providerExecuted;
  const isExpired = notes.expired || (part.state === 'approval-requested' && !last);
  const face = isExpired ? leftFace(reply) : faceOf(part, notes, { live, last, waits });
  const asks = part.state === 'approval-requested' && !isExpired;
  const refusal = useRejectedAnswer(part.approval?.id || part.toolCallId);
  const [choice, setChoice] = useState<boolean | null>(null);
  const isOpen =
    choice ?? (waits || asks || refusal !== null || part.state === 'output-error' || part.state === 'input-streaming');
  const name = toolName(part);
  const far = live ? progressOf(part, notes) : null;
  return (
    <div
      className="tool"
      role="group"
      data-kind={face.kind}
      data-state={part.state}
      data-expired={isExpired || undefined}
      aria-label={`Tool ${name}: ${face.word}`}
    >
      <button type="button" className="tool-head" aria-expanded={isOpen} onClick={() => setChoice(!isOpen)}>
        <Icon name={face.icon} />
        <strong>{part.title || name}</strong>
        <span className="summary">{summary(part)}</span>
        {far && <ToolProgress {...far} />}
        <span className="tool-state" data-busy={face.busy && live ? '' : undefined}>
          {face.word}
        </span>
        {part.providerExecuted && <span className="quiet">by the provider</span>}
      </button>
      {isOpen && (
        <div className="tool-body">
          <Field name="Input" value={part.input ?? (part as { rawInput?: unknown }).rawInput} />
          {part.state === 'output-available' && (
            <Field name={part.preliminary ? 'So far' : 'Result'} value={part.output} />
          )}
          {part.state === 'output-error' && <p className="failure">{part.errorText}</p>}
          {part.state === 'output-error' && <Traceback text={part.errorText} />}
          {isExpired ? (
            <p className="quiet">
              {reply ? `You replied: ${shortened(reply)}` : part.approval?.reason || 'This request has expired.'}
            </p>
          ) : (
            part.approval && <Decision {...part.approval} />
          )}
          {asks && (
            <Suspense>
              <Approval approval={part.approval} notes={notes} tool={name} input={part.input} />
            </Suspense>
          )}
          {refusal && !asks && (
            <p className="failure" role="alert">
              {`Your answer was not accepted: ${refusal.reason}`}
            </p>
          )}
          <StepOf call={part.toolCallId} />
          {waits && <ToolResultForm tool={name} call={part.toolCallId} input={part.input} />}
          {part.state === 'output-available' && notes.longRunning && (
            <details>
              <summary className="quiet">{notes.answered ? 'Send another result' : 'Send the final result'}</summary>
              <ToolResultForm tool={name} call={part.toolCallId} input={part.input} isGrowing={live && !isTalking} />
            </details>
          )}
        </div>
      )}
    </div>
  );
}

/** How far the tool of a call is, if it says so. */
function progressOf(part: ToolPart, notes: CallNotes): Progress | null {
  if (part.state === 'output-available') return part.preliminary ? (part.output as Progress) : null;
  return part.state === 'input-available' ? (notes.progress ?? null) : null;
}

function ToolProgress({ done, total, message }: Progress) {
  const known = total !== undefined && total > 0 && done !== undefined;
  return (
    <span className="tool-progress">
      {message && <span>{message}</span>}
      {known && <progress value={done} max={total} aria-label="Progress of the tool" />}
      {done !== undefined && <span>{known ? share(done / total) : number(done)}</span>}
    </span>
  );
}

/** The step of a call, in the inspector. */
function StepOf({ call }: { call: string }) {
  const { inspect } = useActions();
  const node = callNode(useRun(), call);
  if (!node || !inspect) return null;
  return (
    <button type="button" className="link quiet" onClick={() => inspect(`n${node.index}`)}>
      Inspect this step
    </button>
  );
}

const EXPIRED: Face = { word: 'Expired', kind: 'neutral', icon: 'clock' };
const REPLIED: Face = { word: 'Answered in chat', kind: 'neutral', icon: 'text' };

/** The four answers to a search plan are said in the chat: `features/grounding/PlanAnswers.tsx`. */
const PLAN_REPLIES: Readonly<Record<string, Face>> = {
  OK: { word: 'Approved in chat', kind: 'approval', icon: 'check' },
  'Short run': { word: 'Approved in chat', kind: 'approval', icon: 'check' },
  Modify: { word: 'Change requested', kind: 'approval', icon: 'edit' },
  Cancel: { word: 'Cancelled in chat', kind: 'approval', icon: 'cross' },
};

/** How a call looks that asked for an approval, when the conversation went on with a message. */
export function leftFace(reply: string): Face {
  return reply ? (PLAN_REPLIES[reply.split(':')[0]!] ?? REPLIED) : EXPIRED;
}

const REPLY = 120;

function shortened(text: string): string {
  return text.length > REPLY ? `${text.slice(0, REPLY)}…` : text;
}

function faceOf(
  part: ToolPart,
  notes: CallNotes,
  { live, last, waits }: { live: boolean; last: boolean; waits: boolean },
): Face {
  const isRunning = part.state === 'output-available' && part.preliminary;
  const state = isRunning ? 'input-available' : part.state;
  const face = FACES[state];
  if (waits) return { word: 'Waiting for you', kind: 'approval', icon: 'input' };
  if (notes.longRunning && !notes.answered && state === 'output-available')
    return { word: 'Pending', kind: 'approval', icon: 'clock' };
  if (state === 'input-available' && !live) return { word: waitingWord(notes, last), kind: 'neutral', icon: 'clock' };
  if (part.state === 'input-streaming' && !live) return { word: 'Interrupted', kind: 'neutral', icon: 'cross' };
  if (part.state === 'approval-responded') {
    return {
      ...face,
      word: part.approval.approved ? 'Approved' : 'Denied',
      icon: part.approval.approved ? 'check' : 'cross',
    };
  }
  return face;
}

/** What a call waits for that the server runs. */
function waitingWord({ awaits }: CallNotes, last: boolean): string {
  if (!last) return 'Not answered';
  return awaits ? `Waiting for ${awaits}` : 'Waiting';
}

function Decision({ approved, reason }: { approved?: boolean; reason?: string }) {
  if (approved === undefined) return null;
  return (
    <p className="quiet">
      {approved ? 'You approved this call' : 'You denied this call'}
      {reason ? `: ${reason}` : '.'}
    </p>
  );
}

function Field({ name, value }: { name: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <div className="field-row">
      <div className="field-name">
        {name}
        <Copy text={() => JSON.stringify(value, null, 2)} label={`Copy the ${name.toLowerCase()}`} />
      </div>
      <JsonView value={value} open={2} />
    </div>
  );
}

const SUMMARY = 80;

/** The call's scalars in one line, so that it need not be opened. */
function summary(part: ToolPart): string {
  const input: unknown = part.input;
  if (typeof input !== 'object' || input === null) return '';
  const words = Object.entries(input).map(([key, value]) =>
    typeof value === 'object' && value !== null ? `${key}: …` : `${key}: ${String(value)}`,
  );
  const text = words.join(', ');
  return text.length > SUMMARY ? `${text.slice(0, SUMMARY)}…` : text;
}
