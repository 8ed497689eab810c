/**
 * Code, in pieces of some lines: while it grows only its last piece changes, and when it is complete it is coloured.
 */
import { memo, useState, type ReactNode, useEffect } from 'react';
import { Copy } from '../../ui/Copy';
import { plural } from '../../ui/format';
import type { Token } from './highlight';

// Colours for code that is complete. Until they are there, and where there are none, code is plain.

/** Letters of code that are coloured: more would hold up the page, and nobody reads it. */
const MOST = 40_000;

/** Return the tokens of code; null for none, yet or ever. */
function useTokens(code: string, language: string): readonly Token[] | null {
  const [found, setFound] = useState<{ code: string; tokens: Token[] | null } | null>(null);
  useEffect(() => {
    if (!language || code.length > MOST) return;
    let isWanted = true;
    void import('./highlight')
      .then(({ highlight }) => isWanted && setFound({ code, tokens: highlight(code, language) }))
      .catch(() => undefined); // The server is away, or a grammar fails: the code is there, without colours.
    return () => void (isWanted = false);
  }, [code, language]);
  return language && found?.code === code ? found.tokens : null;
}

const LINES = 60;

type Props = {
  language: string;
  code: string;
  /** It is still being written: then its end is what one looks at. */
  live?: boolean;
  /** Said above it, before its language. */
  remark?: ReactNode;
};

export const Code = memo(function Code({ language, code, live = false, remark }: Props) {
  const [isWhole, setWhole] = useState(false);
  const all = pieces(code);
  const isFolded = !live && !isWhole && all.length > 1;
  const shown = isFolded ? all.slice(0, 1) : all;
  const coloured = useTokens(isFolded ? all[0]! : code, live ? '' : language);
  return (
    <figure className="code">
      <figcaption>
        <span>{language || 'code'}</span>
        {remark}
        <Copy text={code} label="Copy the code" />
      </figcaption>
      <pre tabIndex={0} aria-label={language ? `Code, ${language}` : 'Code'}>
        <code>
          {coloured ? (
            <span className="piece">
              {coloured.map(({ kind, text }, index) =>
                kind ? (
                  <span key={index} className={kind}>
                    {text}
                  </span>
                ) : (
                  text
                ),
              )}
            </span>
          ) : (
            shown.map((piece, index) => <Piece key={index} text={piece} />)
          )}
        </code>
      </pre>
      {isFolded && (
        <button type="button" className="button code-more" data-look="quiet" onClick={() => setWhole(true)}>
          {`Show all ${plural(code.split('\n').length, 'line')}`}
        </button>
      )}
    </figure>
  );
});

const Piece = memo(function Piece({ text }: { text: string }) {
  return <span className="piece">{text}</span>;
});

/** Cut code after every so many lines. */
function pieces(code: string): string[] {
  const found: string[] = [];
  let start = 0;
  let lines = 0;
  for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) {
    lines += 1;
    if (lines % LINES === 0) {
      found.push(code.slice(start, at));
      start = at + 1;
    }
  }
  found.push(code.slice(start));
  return found;
}
