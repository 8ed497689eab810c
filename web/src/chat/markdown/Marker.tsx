/** A superscript number that leads to its source in the same message. */

export function Marker({ source }: { source: string }) {
  return (
    <button type="button" className="marker" data-kind="proof" aria-label={`Source ${source}`} onClick={(event) => reveal(event.currentTarget, source)}>
      {source}
    </button>
  );
}

function reveal(from: HTMLElement, source: string): void {
  const target = from.closest('[data-message]')?.querySelector<HTMLElement>(`[data-source="${CSS.escape(source)}"]`);
  target?.scrollIntoView({ block: 'nearest' });
  target?.focus();
}
