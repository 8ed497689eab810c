/** One block of Markdown. Raw HTML is never parsed, links open elsewhere, and no image is fetched. */
import { memo } from 'react';
import Markdown, { type Components } from 'react-markdown';
import rehypeSanitize from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { isBounded } from './parseLimits';
import { CITED } from '../citations';
import { Marker } from './Marker';
import { MARKER } from './markers';
import { Code } from './Code';

const COMPONENTS: Components = {
  a: ({ href = '', children }) =>
    href.startsWith(MARKER) ? (
      <Marker source={href.slice(MARKER.length)} />
    ) : href.startsWith(CITED) ? (
      <Marker source={href.slice(CITED.length)} isCited />
    ) : (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ),
  // A picture from elsewhere would tell its host who reads this.
  img: ({ src, alt }) => (
    <a href={typeof src === 'string' ? src : undefined} target="_blank" rel="noopener noreferrer nofollow">
      image: {alt || 'untitled'}
    </a>
  ),
  pre: ({ children }) => {
    const code = (children as { props?: { className?: string; children?: unknown } } | null)?.props;
    const language = /language-(\S+)/.exec(code?.className ?? '')?.[1] ?? '';
    return <Code language={language} code={String(code?.children ?? '').replace(/\n$/, '')} />;
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

const REMARK = [remarkGfm];
const REHYPE = [rehypeSanitize];

export default memo(function Rendered({ text }: { text: string }) {
  if (!isBounded(text)) return <p className="plain">{text}</p>;
  return (
    <Markdown remarkPlugins={REMARK} rehypePlugins={REHYPE} components={COMPONENTS}>
      {text}
    </Markdown>
  );
});
