/** A number in the text that leads to its source in the same message, or to its citation in the proof. */
import { useActions } from '../ChatContext';
import * as words from '../../words/chat';

export function Marker({ source, isCited = false }: { source: string; isCited?: boolean }) {
  const { openPanel } = useActions();
  return (
    <button type="button" className="marker" data-kind="proof" aria-label={words.sourceNumber(source)} onClick={(event) => (isCited ? openPanel('proof', `citation:${source}`) : reveal(event.currentTarget, source))}>
      {source}
    </button>
  );
}

function reveal(from: HTMLElement, source: string): void {
  const target = from.closest('[data-message]')?.querySelector<HTMLElement>(`[data-source="${CSS.escape(source)}"]`);
  target?.scrollIntoView({ block: 'nearest' });
  target?.focus();
}
