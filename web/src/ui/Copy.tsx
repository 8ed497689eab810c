/** A button that copies, and says so for a moment. */
import { useEffect, useState, type ReactNode } from 'react';
import { Icon } from './Icon';

/** An id, shortened in the middle; a click copies the whole. */
const LONGEST = 16;

export function shorten(id: string, longest = LONGEST): string {
  if (id.length <= longest) return id;
  const head = Math.ceil((longest - 1) / 2);
  return `${id.slice(0, head)}…${id.slice(head - longest + 1)}`;
}

export function Id({ id, longest }: { id: string; longest?: number }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => setCopied(await copyText(id));
  return (
    <button
      type="button"
      className="id"
      title={copied ? 'Copied' : `Copy ${id}`}
      onClick={copy}
      onBlur={() => setCopied(false)}
    >
      {shorten(id, longest)}
    </button>
  );
}

const SHOWN_MS = 1200;

type Props = { text: string | (() => string); label: string; children?: ReactNode };

export function Copy({ text, label, children }: Props) {
  const [result, setResult] = useState<'none' | 'copied' | 'failed'>('none');
  useEffect(() => {
    if (result === 'none') return;
    const timer = setTimeout(() => setResult('none'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async () => {
    const done = await copyText(typeof text === 'function' ? text() : text);
    setResult(done ? 'copied' : 'failed');
  };
  const said = { none: label, copied: 'Copied', failed: 'Could not copy' }[result];
  return (
    <button
      type="button"
      className="button"
      data-look="quiet"
      data-square={children ? undefined : ''}
      title={said}
      aria-label={children ? label : said}
      onClick={copy}
    >
      <Icon name={result === 'copied' ? 'check' : result === 'failed' ? 'cross' : 'copy'} />
      {children}
    </button>
  );
}

/** Put text on the clipboard; tell whether it worked (a page without a secure context may not). */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('readonly', '');
  area.className = 'visually-hidden';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}
