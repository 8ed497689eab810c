/** A formula: drawn when its block is complete; until then, and where it cannot be drawn, its source. */
import { useContext, useEffect, useRef, useState } from 'react';
import { OpenBlock } from './OpenBlock';
import * as words from '../../words/chat';
import './formula.css';

type Props = { tex: string; source: string; isDisplay: boolean };

export function Formula({ tex, source, isDisplay }: Props) {
  const isOpen = useContext(OpenBlock);
  const place = useRef<HTMLSpanElement>(null);
  const [drawn, setDrawn] = useState<'not yet' | 'yes' | 'no'>('not yet');
  useEffect(() => {
    if (isOpen) return;
    let isWanted = true;
    void import('./texToMathml').then(
      ({ draw }) => isWanted && place.current && setDrawn(draw(tex, isDisplay, place.current) ? 'yes' : 'no'),
      () => undefined, // The server is away: the source says the same.
    );
    return () => void (isWanted = false);
  }, [tex, isDisplay, isOpen]);
  const access = isDisplay ? { tabIndex: 0, role: 'group', 'aria-label': words.formula } : {};
  return (
    <span className="formula" data-display={isDisplay || undefined} {...access}>
      <span ref={place} hidden={drawn !== 'yes'} />
      {drawn !== 'yes' && <code title={drawn === 'no' ? words.formulaCouldNotBeDrawn : undefined}>{source}</code>}
    </span>
  );
}
