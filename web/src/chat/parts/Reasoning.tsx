/** The model's thoughts: open while it thinks, folded when it is done. */
import { useEffect, useState } from 'react';
import { KindChip } from '../../ui/Kind';
import { plural } from '../../ui/format';
import { Prose } from '../markdown/Prose';
import * as wording from '../../words/chat';

type Props = { text: string; live: boolean; /** Else only that the model thinks is said. */ isShown: boolean };

export function Reasoning({ text, live, isShown }: Props) {
  const [isOpen, setOpen] = useState(live);
  useEffect(() => setOpen(live), [live]);
  if (!text && !live) return null;
  if (!isShown) return <KindChip kind="reasoning">{wording.thinking}</KindChip>;
  return (
    <details className="fold" data-kind="reasoning" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <KindChip kind="reasoning">{live ? wording.thinking : wording.thought}</KindChip>
        <span className="quiet">{plural(words(text), 'word')}</span>
      </summary>
      {isOpen && (
        <div className="fold-body">
          <Prose text={text} live={live} />
        </div>
      )}
    </details>
  );
}

function words(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
