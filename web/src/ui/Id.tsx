/** An id, shortened in the middle; a click copies the whole. */
import { useState } from 'react';
import { copyText } from './clipboard';
import * as words from '../words/ui';

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
    <button type="button" className="id" title={copied ? words.copied : words.copy(id)} onClick={copy} onBlur={() => setCopied(false)}>
      {shorten(id, longest)}
    </button>
  );
}
