/** The footnotes of an answer, at its end, and the numbers that lead there and back. */
import { memo, type ReactNode } from 'react';
import { Icon } from '../../ui/Icon';
import type { Footnote } from './blocks';

/** How the address of a footnote begins; only `FootnoteNumber` understands it. */
export const FOOTNOTE = '#footnote-';

type Props = { notes: readonly Footnote[]; draw: (text: string) => ReactNode };

export default memo(function Footnotes({ notes, draw }: Props) {
  return (
    <section className="footnotes" aria-label="Footnotes">
      <ol>
        {notes.map(({ number, text }) => (
          <li key={number} data-footnote={number} tabIndex={-1}>
            {draw(text)}
            <button
              type="button"
              className="button"
              data-look="quiet"
              data-square=""
              title="Back to the text"
              aria-label={`Back to footnote ${number} in the text`}
              onClick={(event) => reveal(event.currentTarget, `[data-names="${number}"]`)}
            >
              <Icon name="send" />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
});

export function FootnoteNumber({ number }: { number: string }) {
  return (
    <sup>
      <button
        type="button"
        className="marker"
        data-kind="neutral"
        data-names={number}
        aria-label={`Footnote ${number}`}
        onClick={(event) => reveal(event.currentTarget, `[data-footnote="${CSS.escape(number)}"]`)}
      >
        {number}
      </button>
    </sup>
  );
}

function reveal(from: HTMLElement, what: string): void {
  const target = from.closest('.prose')?.querySelector<HTMLElement>(what);
  target?.scrollIntoView({ block: 'nearest' });
  target?.focus();
}
