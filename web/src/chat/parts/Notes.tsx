/** What happened beside the words: state, artifacts, transfers, outputs, errors, sound. One line each. */
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { path, explain, getJson } from '../../app/server';
import { Icon, type IconName } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { KindChip, type Kind } from '../../ui/Kind';
import { duration, plural, readable, size, share } from '../../ui/format';
import { Traceback } from '../../ui/Traceback';
import { useActions } from '../ChatContext';
import { Code } from '../markdown/Code';
import type { PrismDataParts, PrismProof } from '@adk-prism/client/ai';
import { bytesOf, wav } from '../audioCache';

type NoteProps = { kind: Kind; icon?: IconName; word: string; children?: ReactNode; details?: unknown };

function Note({ kind, icon, word, children, details }: NoteProps) {
  const line = (
    <>
      <KindChip kind={kind} icon={icon}>
        {word}
      </KindChip>
      {children}
    </>
  );
  if (details === undefined) return <p className="note">{line}</p>;
  return (
    <details className="note-fold">
      <summary className="note">{line}</summary>
      <JsonView value={details} open={3} />
    </details>
  );
}

export function StateNote({ data }: { data: PrismDataParts['state'] }) {
  const keys = Object.keys(data);
  return (
    <Note kind="state" word="State" details={data}>
      <span className="quiet">
        {keys.length > 4 ? `${keys.slice(0, 4).join(', ')} and ${keys.length - 4} more` : keys.join(', ')}
      </span>
    </Note>
  );
}

export function ArtifactNote({ data }: { data: PrismDataParts['artifact'] }) {
  const { app, user, session } = useActions();
  const [problem, setProblem] = useState('');
  const save = async () => {
    try {
      const at = `${path('apps', app, 'users', user, 'sessions', session, 'artifacts')}/${data.filename.split('/').map(encodeURIComponent).join('/')}`;
      saveFile(data.filename, await getJson(`${at}/versions/${data.version}`));
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <Note kind="media" icon="download" word="Artifact">
      <span>{data.filename}</span>
      <span className="quiet">{`version ${data.version}`}</span>
      <button type="button" className="button" data-look="quiet" onClick={save}>
        <Icon name="download" /> Save
      </button>
      {problem && <span className="failure">{problem}</span>}
    </Note>
  );
}

type ArtifactJson = { inlineData?: { data?: string; mimeType?: string; displayName?: string }; text?: string };

function saveFile(name: string, part: ArtifactJson): void {
  const blob =
    part.inlineData?.data !== undefined
      ? new Blob([bytesOf(part.inlineData.data)], { type: 'application/octet-stream' })
      : new Blob([part.text ?? ''], { type: 'text/plain' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.split('/').at(-1) ?? name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function TransferNote({ data }: { data: PrismDataParts['transfer'] }) {
  return (
    <Note kind="neutral" icon="branch" word="Transfer">
      <span>
        to <strong>{data.to}</strong>
      </span>
      {data.reason && <span className="quiet">{data.reason}</span>}
    </Note>
  );
}

/** A node's name: the last piece of its path, without the number of its run. */
function nodeName({ path: place, author }: PrismDataParts['output']): string {
  return place.split('/').at(-1)?.split('@')[0] || author;
}

const PREVIEW = 120;

/** The beginning of a value, in one line. */
export function preview(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text
    .slice(0, PREVIEW + 1)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > PREVIEW ? `${line.slice(0, PREVIEW)}…` : line;
}

export function OutputNote({ data }: { data: PrismDataParts['output'] }) {
  return (
    <Note kind="neutral" icon="chevron" word="Output" details={data.output}>
      <strong>{readable(nodeName(data))}</strong>
      <span className="quiet preview">{preview(data.output)}</span>
    </Note>
  );
}

/** How an approval stands, where no call's card tells it: in live runs of older clients. */
export function ApprovalNote({ data }: { data: PrismDataParts['approval-request'] }) {
  return (
    <Note kind="approval" word={`Approval ${data.state}`}>
      {data.reason && <span className="quiet">{data.reason}</span>}
    </Note>
  );
}

export function ErrorNote({ data }: { data: PrismDataParts['error'] }) {
  return (
    <>
      <Note kind="error" word={data.code || 'Error'}>
        <span>{data.message || 'A step failed; the run continued.'}</span>
        {(data.author || data.path) && <span className="quiet">{readable(nodeName({ ...data, output: null }))}</span>}
      </Note>
      <Traceback text={data.message ?? ''} />
    </>
  );
}

/** How an answer ended, where that is not plain to see. */
export function Ending({ stopped, empty }: { stopped: boolean; empty: boolean }) {
  if (stopped) return <Stopped />;
  if (!empty) return null;
  return (
    <Note kind="neutral" icon="neutral" word="Empty">
      <span className="quiet">The agent ended without an answer.</span>
    </Note>
  );
}

function Stopped() {
  return (
    <Note kind="neutral" icon="stop" word="Stopped">
      <span className="quiet">This answer was stopped before its end.</span>
    </Note>
  );
}

export function InterruptedNote({ data }: { data: PrismDataParts['interrupted'] }) {
  if (!data.author) return <Stopped />;
  return (
    <Note kind="neutral" icon="stop" word="Interrupted">
      <span className="quiet">{`${data.author} was interrupted`}</span>
    </Note>
  );
}

export function WarningNote({ data }: { data: PrismDataParts['warning'] }) {
  return (
    <Note kind="neutral" icon="help" word="Warning">
      <span className="quiet">{data.message}</span>
    </Note>
  );
}

export function TakeoverNote({ data }: { data: PrismDataParts['prism-takeover'] }) {
  const doubtful = data.inDoubt?.length ?? 0;
  return (
    <Note kind="neutral" icon="retry" word="Resumed">
      <span className="quiet">
        {'after a server restart.'}
        {doubtful > 0 && ` ${`${doubtful === 1 ? 'One tool call' : `${doubtful} tool calls`} may have run already.`}`}
      </span>
    </Note>
  );
}

export function TranscriptNote({ data }: { data: PrismDataParts['input-transcription'] }) {
  return (
    <Note kind="media" icon="user" word="You said">
      <q>{data.text}</q>
      {!data.final && <span className="quiet">…</span>}
    </Note>
  );
}

export function CodeNote({ data }: { data: PrismDataParts['executable-code'] }) {
  return <Code language={(data.language ?? '').toLowerCase()} code={data.code ?? ''} />;
}

export function CodeResultNote({ data }: { data: PrismDataParts['code-execution-result'] }) {
  const isFine = !data.outcome || data.outcome.endsWith('OK');
  return (
    <div className="code-result" data-kind={isFine ? 'tool' : 'error'}>
      <KindChip kind={isFine ? 'tool' : 'error'} icon={isFine ? 'check' : 'error'}>
        {isFine ? 'Result' : (data.outcome ?? 'failed').replace('OUTCOME_', '').toLowerCase().replaceAll('_', ' ')}
      </KindChip>
      <pre>{data.output}</pre>
    </div>
  );
}

/** Confidence and sources of one subject; nothing where it stated neither. */
export function ProofNote({ data }: { data: PrismProof }) {
  const { openPanel } = useActions();
  const confidence = confidenceWords(data);
  const stated = [
    confidence && `Confidence ${confidence}`,
    data.citations.length > 0 && plural(data.citations.length, 'source'),
  ].filter(Boolean);
  if (stated.length === 0) return null;
  const who = data.subject.kind === 'answer' ? '' : `${readable(data.subject.name)}: `;
  return (
    <p className="note">
      <button
        type="button"
        className="proof-chip"
        data-kind="proof"
        title="Show what it rests on"
        onClick={() => openPanel('proof')}
      >
        <Icon name="proof" /> {who}
        {stated.join(' · ')}
      </button>
    </p>
  );
}

export function ResponseNote({ word, data }: { word: string; data: { id: string; response: unknown } }) {
  const isLong = typeof data.response === 'object' && data.response !== null;
  return (
    <Note kind="approval" icon="check" word={word} details={isLong ? data.response : undefined}>
      <span className="quiet preview">{preview(data.response)}</span>
    </Note>
  );
}

export function UnrecognisedNote({ data }: { data: PrismDataParts['unrecognised'] }) {
  return (
    <Note kind="neutral" word="Unknown" details={data.raw}>
      <span className="quiet">{data.kind}</span>
    </Note>
  );
}

/** Anything that this page does not know: shown as it came. */
export function UnknownPart({ part }: { part: { type: string } }) {
  return (
    <Note kind="neutral" word={part.type} details={part}>
      <span className="quiet">not supported by this page</span>
    </Note>
  );
}

/** Raw sound: heard from what came with the message, else fetched again from its run. */
export function Sound({
  pieces,
  audio,
  load,
}: {
  pieces: readonly PrismDataParts['pcm'][];
  audio?: { duration: number; bytes: number; sampleRate: number };
  load: () => Promise<readonly PrismDataParts['pcm'][]>;
}) {
  const [loaded, setLoaded] = useState<readonly PrismDataParts['pcm'][]>([]);
  const [problem, setProblem] = useState('');
  const known = pieces.length > 0 ? pieces : loaded;
  const count = known.length;
  const url = useMemo(() => (count > 0 ? URL.createObjectURL(wav(known)) : ''), [known, count]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  const take = (found: readonly PrismDataParts['pcm'][]) =>
    found.length > 0 ? setLoaded(found) : setProblem('The server has no audio of this message.');
  const fetchIt = () => load().then(take, (error: unknown) => setProblem(explain(error)));
  return (
    <div className="file" data-kind="media">
      {url && <audio controls src={url} aria-label="Audio of this message" />}
      <p className="note">
        <KindChip kind="media">Audio</KindChip>
        {audio && (
          <span className="quiet">
            {duration(audio.duration)} · {audio.sampleRate / 1000} kHz · {size(audio.bytes)}
          </span>
        )}
        {!url && (
          <button type="button" className="button" data-look="quiet" onClick={fetchIt}>
            <Icon name="play" /> Load
          </button>
        )}
        {problem && <span className="failure">{problem}</span>}
      </p>
    </div>
  );
}

/** How sure a proof is: a percentage, or a level; empty where it says neither. */
export function confidenceWords({ confidence, level }: Pick<PrismProof, 'confidence' | 'level'>): string {
  return confidence === null ? (level ?? '') : share(confidence);
}
