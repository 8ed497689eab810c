/** One part of a message. Every type that the server can send is named here; any other is shown as JSON. */
import { memo, Suspense, type ReactElement, useEffect, useRef, useState } from 'react';
import { Failure, lazyWithRetry } from '../app/Failure';
import { isTool, type CallNotes, type Part } from './message';
import * as Notes from './parts/Notes';
import { Tool } from './parts/Tool';
import { Prose } from './markdown/Prose';
import { KindChip } from '../ui/Kind';
import { duration } from '../ui/format';
import { useAuthorizedUrl } from '../app/server';
import { Icon, type IconName } from '../ui/Icon';
import { thoughtSeconds, useRejectedAnswer, useRun } from './ChatContext';
import { JsonView } from '../ui/Json';

/** A request that nobody has to answer any more: one line, and what was asked on demand. */
export type RequestState = 'open' | 'answered' | 'expired' | 'left';

const WORDS: Record<Exclude<RequestState, 'open'>, string> = {
  answered: 'Answered.',
  expired: 'This request has expired.',
  left: 'The conversation has continued without it.',
};

type ClosedRequestProps = {
  id: string;
  icon: IconName;
  words: string;
  state: Exclude<RequestState, 'open'>;
  details?: unknown;
};

export function ClosedRequest({ id, icon, words, state, details }: ClosedRequestProps) {
  const refusal = useRejectedAnswer(id);
  return (
    <div role="group" className="request" data-kind="neutral" data-request={state} aria-label={words}>
      <p className="request-head">
        <Icon name={icon} />
        <span>{words}</span>
        <span className="quiet">{WORDS[state]}</span>
      </p>
      {refusal && (
        <p className="failure" role="alert">
          {`Your answer was not accepted: ${refusal.reason}`}
        </p>
      )}
      {details !== undefined && details !== null && (
        <details>
          <summary className="quiet">Details</summary>
          <JsonView value={details} open={2} />
        </details>
      )}
    </div>
  );
}

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
  /** What the user wrote next; empty where nothing. */
  reply: string;
  /** The part's text with markers of its sources. */
  marked: (text: string) => string;
  /** Thoughts are shown, not only that there are some. */
  isThinking?: boolean;
};

function PartView(props: PartProps): ReactElement | null {
  const { part, live, last, fromUser, notes, marked } = props;
  if (isTool(part))
    return <Tool part={part} notes={notes(part.toolCallId)} live={live} last={last} reply={props.reply} />;
  switch (part.type) {
    case 'text':
      return (
        <Text text={fromUser ? part.text : marked(part.text)} live={live && part.state !== 'done'} plain={fromUser} />
      );
    case 'reasoning':
      return <Reasoning text={part.text} live={live && part.state !== 'done'} isShown={props.isThinking ?? true} />;
    case 'file':
    case 'reasoning-file':
      return (
        <File url={part.url} mediaType={part.mediaType} filename={part.type === 'file' ? part.filename : undefined} />
      );
    case 'step-start': // a model call began: the parts themselves show it
    case 'source-url': // in the list of sources
    case 'source-document':
    case 'data-approval': // on the call's card
    case 'data-long-running':
    case 'data-progress':
    case 'data-pcm': // with the message's sound
    case 'data-usage': // shown below the message
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
      return asked(
        <CredentialRequest id={part.data.id} request={part.data.request} state={stateOf(part.data, props)} />,
      );
    case 'data-input-response':
      return <Notes.ResponseNote word="Answer" data={part.data} />;
    case 'data-credential-response':
      return <Notes.ResponseNote word="Signed in" data={{ id: part.data.id, response: 'not shown' }} />;
    case 'data-rewound': // those messages are no longer shown
      return null;
    case 'data-warning':
      return <Notes.WarningNote data={part.data} />;
    case 'data-confirmation-response':
      return (
        <Notes.ResponseNote word="Approved with" data={{ id: part.data.approvalId, response: part.data.payload }} />
      );
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

/**
 * What became of a request: the history says it, or an answer that is shown; else it is open in the last message only.
 */
function stateOf(
  { id, status }: { id: string; status?: 'answered' | 'expired' },
  { isAnswered, last }: PartProps,
): RequestState {
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
    <Failure what="This part">
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

/** The assistant's words, or the user's, which are shown as they were typed. */
function Text({ text, live, plain }: { text: string; live: boolean; plain: boolean }) {
  if (!text) return null;
  return plain ? <p className="plain">{text}</p> : <Prose text={text} live={live} />;
}

/** The model's thoughts, in their place: one line, "Thought for 2 s"; open where thinking is shown. */
type Props = { text: string; live: boolean; isShown: boolean };

function Reasoning({ text, live, isShown }: Props) {
  const film = useRun();
  const [isOpen, setOpen] = useState(isShown);
  useEffect(() => setOpen(isShown), [isShown]);
  const began = useRef(live ? performance.now() : null);
  const [measured, setMeasured] = useState<number | null>(null);
  useEffect(() => {
    if (!live && began.current !== null) setMeasured((performance.now() - began.current) / 1000);
  }, [live]);
  if (!text && !live) return null;
  const seconds = (film && thoughtSeconds(film, text)) ?? measured;
  return (
    <details
      className="fold"
      data-kind="reasoning"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <Icon name="reasoning" />
        {live ? 'Thinking…' : seconds === null ? 'Thought' : `Thought for ${duration(seconds)}`}
      </summary>
      {isOpen && (
        <div className="fold-body">
          <Prose text={text} live={live} />
        </div>
      )}
    </details>
  );
}

/** A file of a message: shown if it is here, linked if it is elsewhere. Nothing is fetched from other hosts. */
type FileProps = { url: string; mediaType: string; filename?: string };

function File({ url, mediaType, filename }: FileProps) {
  const [isBroken, setBroken] = useState(false);
  const name = filename || mediaType;
  const onError = () => setBroken(true);
  const loaded = useAuthorizedUrl(url, onError);
  if (!isHere(url)) return <Elsewhere url={url} name={name} />;
  const kind = isBroken ? 'broken' : mediaType.split('/')[0];
  return (
    <figure className="file" data-kind="media">
      {loaded && kind === 'image' && <img src={loaded} alt={filename || 'Image of this message'} onError={onError} />}
      {loaded && kind === 'audio' && (
        <audio src={loaded} controls preload="metadata" aria-label={name} onError={onError} />
      )}
      {loaded && kind === 'video' && (
        <video src={loaded} controls preload="metadata" aria-label={name} onError={onError} />
      )}
      <figcaption>
        <KindChip kind="media">{name}</KindChip>
        {isBroken && <span className="quiet">No preview available.</span>}
        <a
          className="button"
          data-look="quiet"
          href={loaded || undefined}
          download={filename || `file.${mediaType.split(/[/+;]/)[1] ?? 'bin'}`}
        >
          <Icon name="download" /> Save
        </a>
      </figcaption>
    </figure>
  );
}

function Elsewhere({ url, name }: { url: string; name: string }) {
  const isWeb = /^https?:/i.test(url) && URL.canParse(url);
  return (
    <p className="note" data-kind="media">
      <KindChip kind="media">{name}</KindChip>
      {isWeb ? (
        <a href={url} target="_blank" rel="noopener noreferrer nofollow">
          <Icon name="link" /> {`on ${new URL(url).host}`}
        </a>
      ) : (
        <code>{url.slice(0, 200)}</code>
      )}
    </p>
  );
}

/** Tell whether a file comes with the message or from this server. */
function isHere(url: string): boolean {
  if (url.startsWith('data:') || url.startsWith('blob:')) return true;
  try {
    const { protocol, origin } = new URL(url, document.baseURI);
    // From a disk, the origin of everything that is no web address is the same: null.
    return /^https?:$/.test(protocol) && origin === location.origin;
  } catch {
    return false;
  }
}
