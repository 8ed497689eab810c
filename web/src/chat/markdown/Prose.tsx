/** An answer's Markdown, block by block; while it grows, only its last block is parsed again. */
import { lazy, memo, Suspense, useRef, type ReactNode } from 'react';
import { Code } from './Code';
import { cut, definitions, openCode, type Cut } from './blocks';

const Rendered = lazy(() => import('./Rendered'));

/** An open block longer than this is parsed again only when it has grown by a tenth: the whole stays linear. */
const LONG_BLOCK = 1500;
const GROWTH = 1.1;

export const Prose = memo(function Prose({ text, live }: { text: string; live: boolean }) {
  const before = useRef<{ text: string; cut: Cut }>({ text: '', cut: { blocks: [], length: 0 } });
  const grown = text.startsWith(before.current.text) ? before.current.cut : undefined;
  const now = cut(text, grown);
  before.current = { text, cut: now };
  const links = live ? '' : definitions(text);
  const last = now.blocks.length - 1;
  return (
    <div className="prose">
      {now.blocks.map((block, index) =>
        live && index === last ? (
          <OpenBlock key={block.start} text={block.text} />
        ) : (
          <Block key={block.start} text={links && block.text.includes('[') ? `${block.text}\n\n${links}` : block.text} />
        ),
      )}
    </div>
  );
});

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <Suspense fallback={<Plain>{text}</Plain>}>
      <Rendered text={text} />
    </Suspense>
  );
});

function OpenBlock({ text }: { text: string }) {
  const parsed = useRef('');
  const code = openCode(text);
  if (code) return <Code language={code.language} code={code.code} />;
  const isDue = text.length < LONG_BLOCK || text.length > parsed.current.length * GROWTH || !text.startsWith(parsed.current);
  if (isDue) parsed.current = text;
  const rest = text.slice(parsed.current.length);
  return (
    <>
      <Block text={parsed.current} />
      {rest && <Plain>{rest}</Plain>}
    </>
  );
}

function Plain({ children }: { children: ReactNode }) {
  return <p className="plain">{children}</p>;
}
