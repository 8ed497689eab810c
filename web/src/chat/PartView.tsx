/** One part of a message. Every type that the server can send is named here; any other is shown as JSON. */
import { memo, Suspense, type ReactElement } from 'react';
import { Failure } from '../app/Failure';
import { lazyWithRetry } from '../app/lazyWithRetry';
import { isTool, type CallNotes, type Part } from './message';
import { File } from './parts/File';
import * as Notes from './parts/Notes';
import { Reasoning } from './parts/Reasoning';
import { Text } from './parts/Text';
import type { RequestState } from './parts/ClosedRequest';
import { Tool } from './parts/Tool';
import * as words from '../words/chat';

// Forms are seldom: whoever meets none does not load them.
const CredentialRequest = lazyWithRetry(() => import('./parts/CredentialRequest'));
const InputRequest = lazyWithRetry(() => import('./parts/InputRequest'));

export type PartProps = {
  part: Part;
  /** The part may still grow. */
  live: boolean;
  /** What it asks may still be answered: it stands in the chat's last message, or the conversation goes on by voice. */
  last: boolean;
  fromUser: boolean;
  notes: (call: string) => CallNotes;
  isAnswered: (request: string) => boolean;
  /** The part's text with markers of its sources. */
  marked: (text: string) => string;
  /** Thoughts are shown, not only that there are some. */
  isThinking?: boolean;
};

export function PartView(props: PartProps): ReactElement | null {
  const { part, live, last, fromUser, notes, marked } = props;
  if (isTool(part)) return <Tool part={part} notes={notes(part.toolCallId)} live={live} last={last} />;
  switch (part.type) {
    case 'text':
      return <Text text={fromUser ? part.text : marked(part.text)} live={live && part.state !== 'done'} plain={fromUser} />;
    case 'reasoning':
      return <Reasoning text={part.text} live={live && part.state !== 'done'} isShown={props.isThinking ?? true} />;
    case 'file':
    case 'reasoning-file':
      return <File url={part.url} mediaType={part.mediaType} filename={part.type === 'file' ? part.filename : undefined} />;
    case 'step-start': // a model call began: the parts themselves show it
    case 'source-url': // in the list of sources
    case 'source-document':
    case 'data-approval': // on the call's card
    case 'data-long-running':
    case 'data-pcm': // with the message's sound
    case 'data-usage': // told by the message itself
    case 'data-prism-replaced': // the parts that it names are not there
      return null;
    case 'data-state':
      return <Notes.StateNote data={part.data} />;
    case 'data-artifact':
      return <Notes.ArtifactNote data={part.data} />;
    case 'data-transfer':
      return <Notes.TransferNote data={part.data} />;
    case 'data-output':
      return <Notes.OutputNote data={part.data} />;
    case 'data-input-request':
      return asked(<InputRequest id={part.data.id} request={part.data.request} state={stateOf(part.data, props)} />);
    case 'data-credential-request':
      return asked(<CredentialRequest id={part.data.id} request={part.data.request} state={stateOf(part.data, props)} />);
    case 'data-input-response':
      return <Notes.ResponseNote word={words.answer} data={part.data} />;
    case 'data-credential-response':
      return <Notes.ResponseNote word={words.signedIn} data={{ id: part.data.id, response: words.notShown }} />;
    case 'data-rewound': // those messages are no longer shown
      return null;
    case 'data-warning':
      return <Notes.WarningNote data={part.data} />;
    case 'data-confirmation-response':
      return <Notes.ResponseNote word={words.approvedWith} data={{ id: part.data.approvalId, response: part.data.payload }} />;
    case 'data-approval-response': // dialect 5, which this page does not speak
      return null;
    case 'data-approval-request':
      return <Notes.ApprovalNote data={part.data} />;
    case 'data-proof':
      return <Notes.ProofNote data={part.data} />;
    case 'data-executable-code':
      return <Notes.CodeNote data={part.data} />;
    case 'data-code-execution-result':
      return <Notes.CodeResultNote data={part.data} />;
    case 'data-file-reference':
      return <File url={part.data.uri} mediaType={part.data.mediaType} filename={part.data.filename} />;
    case 'data-input-transcription':
      return <Notes.TranscriptNote data={part.data} />;
    case 'data-interrupted':
      return <Notes.InterruptedNote data={part.data} />;
    case 'data-prism-takeover':
      return <Notes.TakeoverNote data={part.data} />;
    case 'data-error':
      return <Notes.ErrorNote data={part.data} />;
    case 'data-unrecognised':
      return <Notes.UnrecognisedNote data={part.data} />;
    case 'custom': // of providers and other servers, never ours
    case 'steering-message':
      return <Notes.UnknownPart part={part} />;
    default:
      // Of all types that are declared none is left; what a newer server sends is shown as it came.
      return <Notes.UnknownPart part={part satisfies never} />;
  }
}

/** What became of a request: the history says it, or an answer that is shown; else it is open in the last message only. */
function stateOf({ id, status }: { id: string; status?: 'answered' | 'expired' }, { isAnswered, last }: PartProps): RequestState {
  if (status) return status;
  if (isAnswered(id)) return 'answered';
  return last ? 'open' : 'left';
}

function asked(form: ReactElement): ReactElement {
  return <Suspense fallback={<div className="skeleton" />}>{form}</Suspense>;
}

/** A part that cannot be shown leaves the others, and the composer, alone. */
function ContainedPart(props: PartProps) {
  return (
    <Failure what={words.thisPart}>
      <PartView {...props} />
    </Failure>
  );
}

/** While a message streams, the SDK copies its parts with every token: those that did not change are left alone. */
export const MemoPart = memo(ContainedPart, (before, after) => {
  const { part: old, ...rest } = before;
  const { part, ...others } = after;
  return isSame(old, part) && isSame(rest, others);
});

function isSame(before: object, after: object): boolean {
  const keys = Object.keys(after) as (keyof typeof after)[];
  return keys.length === Object.keys(before).length && keys.every((key) => Object.is(before[key], after[key]));
}
