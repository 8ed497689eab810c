/** One block of Markdown. Raw HTML is shown as text, links open elsewhere, and no image is fetched. */
import { createContext, memo, useContext } from 'react';
import Markdown, { type Components } from 'react-markdown';
import rehypeSanitize from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { isBounded } from './parseLimits';
import { CITED } from '../citations';
import { Marker } from './Marker';
import { MARKER } from './markers';
import { Code } from './Code';
import Diagram from './Diagram';
import { DATA_IMAGE } from './dataImages';
import { FOOTNOTE, FootnoteNumber } from './Footnotes';
import { Formula } from './Formula';
import { takeFormulas } from './formulas';
import { footnotesAsNumbers, htmlAsText, SCHEMA, signsAsFormulas } from './plugins';
import * as words from '../../words/chat';

/** The pictures of a block. */
const Images = createContext<readonly string[]>([]);

function Picture({ src, alt }: { src: string; alt: string | undefined }) {
  const data = useContext(Images)[Number(src.slice(DATA_IMAGE.length))];
  if (src.startsWith(DATA_IMAGE) && data) return <img src={data} alt={alt || words.imageOfThisMessage} />;
  // A picture from elsewhere would tell its host who reads this.
  return (
    <a href={src || undefined} target="_blank" rel="noopener noreferrer nofollow">
      {words.image} {alt || words.untitled}
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
    return language.toLowerCase() === 'mermaid' ? <Diagram source={source} /> : <Code language={language} code={source} />;
  },
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="group" aria-label={words.table}>
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
      <Markdown remarkPlugins={[remarkGfm, htmlAsText, [footnotesAsNumbers, numbers]]} rehypePlugins={[[rehypeSanitize, SCHEMA], [signsAsFormulas, formulas]]} components={ALL}>
        {signed}
      </Markdown>
    </Images>
  );
});
