/** The content of one version: a picture, a sound, JSON or the beginning of a text, and all of it as a download. */
import { useEffect, useState } from 'react';
import { explain } from '../../app/server';
import { Icon } from '../../ui/Icon';
import { JsonView } from '../../ui/Json';
import { size } from '../../ui/format';
import { shownAs } from './content';

type Props = { name: string; load(signal: AbortSignal): Promise<Blob> };
type Loaded = { kind: 'loading' } | { kind: 'missing'; why: string } | { kind: 'there'; blob: Blob; text: string };

const LOADING: Loaded = { kind: 'loading' };
const CHARACTERS = 100_000; // Of a text; the download has all of it.
const LARGEST_JSON = 1_000_000; // Bytes that are shown as a tree; more are shown as text.

export function Preview({ name, load }: Props) {
  const [loaded, setLoaded] = useState(LOADING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each version has a component of its own
  useEffect(() => {
    const leaving = new AbortController();
    read(load, leaving.signal).then(
      setLoaded,
      (error: unknown) => leaving.signal.aborted || setLoaded({ kind: 'missing', why: explain(error) }),
    );
    return () => leaving.abort();
  }, []);
  if (loaded.kind === 'loading') return <div className="skeleton" role="status" aria-label="Loading the artifact" />;
  if (loaded.kind === 'missing') return <p className="muted">{`Not available: ${loaded.why}`}</p>;
  const { blob, text } = loaded;
  return (
    <figure className="preview">
      <Content name={name} blob={blob} text={text} />
      <figcaption>
        <span className="muted">
          {blob.type || 'unknown type'}, {size(blob.size)}
        </span>
        <Save name={name} blob={blob} />
      </figcaption>
    </figure>
  );
}

async function read(load: Props['load'], signal: AbortSignal): Promise<Loaded> {
  const blob = await load(signal);
  const isText = ['text', 'json'].includes(shownAs(blob.type));
  const wanted = shownAs(blob.type) === 'json' && blob.size <= LARGEST_JSON ? blob.size : CHARACTERS * 4;
  return { kind: 'there', blob, text: isText ? await blob.slice(0, wanted).text() : '' };
}

function Content({ name, blob, text }: { name: string; blob: Blob; text: string }) {
  const shown = shownAs(blob.type);
  const url = useObjectUrl(shown === 'image' || shown === 'audio' ? blob : null);
  if (shown === 'none') return <p className="muted">No preview for this type.</p>;
  if (shown === 'image') return url && <img src={url} alt={name} />;
  if (shown === 'audio') return url && <audio src={url} controls aria-label={name} />;
  const value = shown === 'json' ? parsed(text) : undefined;
  if (value !== undefined) return <JsonView value={value} open={2} />;
  return (
    <>
      <pre tabIndex={0} aria-label={name}>
        {text.slice(0, CHARACTERS)}
      </pre>
      {(text.length > CHARACTERS || blob.size > CHARACTERS * 4) && (
        <p className="muted">The beginning is shown; the download has all of it.</p>
      )}
    </>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // It is shown as the text that it is.
  }
}

/** A link to bytes of no type: opened in a tab of its own, a page among them would be ours. */
function Save({ name, blob }: { name: string; blob: Blob }) {
  const [plain] = useState(() => new Blob([blob], { type: 'application/octet-stream' }));
  const url = useObjectUrl(plain);
  return (
    <a
      className="button"
      data-look="quiet"
      href={url || undefined}
      download={
        name
          .replace(/^user:/, '')
          .split('/')
          .at(-1) || 'artifact'
      }
    >
      <Icon name="download" /> Save
    </a>
  );
}

function useObjectUrl(blob: Blob | null): string {
  const [url, setUrl] = useState('');
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
