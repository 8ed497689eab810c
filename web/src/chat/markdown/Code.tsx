/** Code, in pieces of some lines: while it grows only its last piece changes. */
import { memo } from 'react';
import { Copy } from '../../ui/Copy';

const LINES = 60;

export const Code = memo(function Code({ language, code }: { language: string; code: string }) {
  return (
    <figure className="code">
      <figcaption>
        <span>{language || 'code'}</span>
        <Copy text={code} label="Copy the code" />
      </figcaption>
      <pre tabIndex={0} aria-label={language ? `Code, ${language}` : 'Code'}>
        <code>
          {pieces(code).map((piece, index) => (
            <Piece key={index} text={piece} />
          ))}
        </code>
      </pre>
    </figure>
  );
});

const Piece = memo(function Piece({ text }: { text: string }) {
  return <span className="piece">{text}</span>;
});

/** Cut code after every so many lines. */
export function pieces(code: string): string[] {
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
