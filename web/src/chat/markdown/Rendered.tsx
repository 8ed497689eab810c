/** One block of Markdown. Raw HTML is shown as text, links open elsewhere, and no image is fetched. */
import { createContext, memo, useContext, useEffect, useRef, useState } from 'react';
import Markdown, { type Components } from 'react-markdown';
import rehypeSanitize from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { isBounded, footnotesAsNumbers, htmlAsText, SCHEMA, signsAsFormulas } from './plugins';
import { CITED, MARKER } from '../citations';
import { Code } from './Code';
import Diagram from './Diagram';
import { DATA_IMAGE } from './blocks';
import { FOOTNOTE, FootnoteNumber } from './Footnotes';
import { takeFormulas } from './formulas';
import { useActions } from '../ChatContext';
import { OpenBlock } from './Prose';
import './formula.css';

/** The pictures of a block. */
const Images = createContext<readonly string[]>([]);

function Picture({ src, alt }: { src: string; alt: string | undefined }) {
  const data = useContext(Images)[Number(src.slice(DATA_IMAGE.length))];
  if (src.startsWith(DATA_IMAGE) && data) return <img src={data} alt={alt || 'Image of this message'} />;
  // A picture from elsewhere would tell its host who reads this.
  return (
    <a href={src || undefined} target="_blank" rel="noopener noreferrer nofollow">
      image: {alt || 'untitled'}
    </a>
  );
}

const COMPONENTS: Components = {
  a: ({ href = '', children }) =>
    href.startsWith(MARKER) ? (
      <Marker source={href.slice(MARKER.length)} />
    ) : href.startsWith(CITED) ? (
      <Marker source={href.slice(CITED.length)} isCited />
    ) : href.startsWith(FOOTNOTE) ? (
      <FootnoteNumber number={href.slice(FOOTNOTE.length)} />
    ) : (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ),
  img: ({ src, alt }) => <Picture src={typeof src === 'string' ? src : ''} alt={alt} />,
  pre: ({ children }) => {
    const code = (children as { props?: { className?: string; children?: unknown } } | null)?.props;
    const language = /language-(\S+)/.exec(code?.className ?? '')?.[1] ?? '';
    const source = String(code?.children ?? '').replace(/\n$/, '');
    return language.toLowerCase() === 'mermaid' ? (
      <Diagram source={source} />
    ) : (
      <Code language={language} code={source} />
    );
  },
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  // All on one level, below the chat's own heading: an answer may begin with any.
  h1: ({ children }) => <h3 data-level="1">{children}</h3>,
  h2: ({ children }) => <h3 data-level="2">{children}</h3>,
  h3: ({ children }) => <h3 data-level="3">{children}</h3>,
  h4: ({ children }) => <h3 data-level="4">{children}</h3>,
  h5: ({ children }) => <h3 data-level="4">{children}</h3>,
  h6: ({ children }) => <h3 data-level="4">{children}</h3>,
  input: ({ checked }) => <span>{checked ? '☑' : '☐'} </span>,
};

/** An element of ours: see `plugins.ts`. */
const ALL = { ...COMPONENTS, formula: Formula } as Components;

type Props = {
  text: string;
  images: readonly string[];
  /** Numbers of the answer's footnotes, by their names, as JSON. */
  notes: string;
};

export default memo(function Rendered({ text, images, notes }: Props) {
  const { text: signed, formulas } = takeFormulas(text);
  if (!isBounded(signed)) return <p className="plain">{text}</p>;
  const numbers = new Map<string, number>(notes ? (JSON.parse(notes) as [string, number][]) : []);
  return (
    <Images value={images}>
      <Markdown
        remarkPlugins={[remarkGfm, htmlAsText, [footnotesAsNumbers, numbers]]}
        rehypePlugins={[
          [rehypeSanitize, SCHEMA],
          [signsAsFormulas, formulas],
        ]}
        components={ALL}
      >
        {signed}
      </Markdown>
    </Images>
  );
});

/** A number in the text that leads to its source in the same message, or to its citation in the proof. */
export function Marker({ source, isCited = false }: { source: string; isCited?: boolean }) {
  const { openPanel } = useActions();
  return (
    <button
      type="button"
      className="marker"
      data-kind="proof"
      aria-label={`Source ${source}`}
      onClick={(event) => (isCited ? openPanel('proof', `citation:${source}`) : reveal(event.currentTarget, source))}
    >
      {source}
    </button>
  );
}

function reveal(from: HTMLElement, source: string): void {
  const target = from.closest('[data-message]')?.querySelector<HTMLElement>(`[data-source="${CSS.escape(source)}"]`);
  target?.scrollIntoView({ block: 'nearest' });
  target?.focus();
}

/** A formula: drawn when its block is complete; until then, and where it cannot be drawn, its source. */
type FormulaProps = { tex: string; source: string; isDisplay: boolean };

export function Formula({ tex, source, isDisplay }: FormulaProps) {
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
  const access = isDisplay ? { tabIndex: 0, role: 'group', 'aria-label': 'Formula' } : {};
  return (
    <span className="formula" data-display={isDisplay || undefined} {...access}>
      <span ref={place} hidden={drawn !== 'yes'} />
      {drawn !== 'yes' && <code title={drawn === 'no' ? 'This formula could not be drawn.' : undefined}>{source}</code>}
    </span>
  );
}
