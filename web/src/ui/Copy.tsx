/** A button that copies, and says so for a moment. */
import { useEffect, useState, type ReactNode } from 'react';
import { copyText } from './clipboard';
import { Icon } from './Icon';
import * as words from '../words/ui';

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
  const said = { none: label, copied: words.copied, failed: words.couldNotCopy }[result];
  return (
    <button type="button" className="button" data-look="quiet" data-square={children ? undefined : ''} title={said} aria-label={children ? label : said} onClick={copy}>
      <Icon name={result === 'copied' ? 'check' : result === 'failed' ? 'cross' : 'copy'} />
      {children}
    </button>
  );
}
