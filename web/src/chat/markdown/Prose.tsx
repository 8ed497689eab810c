/** An answer's Markdown, block by block; while it grows, only its last block is parsed again. */
import { memo, Suspense, useMemo, useRef, type CSSProperties, type ReactNode, Component, createContext } from 'react';
import { lazyWithRetry } from '../../app/Failure';
import { useTail } from '../../ui/hooks';
import { Code } from './Code';
import { takeImages, cut, definitions, fenced, used, type Block, type Cut, footnotes, type Footnote } from './blocks';

/** Tells whether the block around is still being written: what is costly to draw waits for its end. */
export const OpenBlock = createContext(false);

/** Tells whether the text around is still being written: diagrams wait for its end. */
export const GrowingText = createContext(false);

/** Shows something else in the place of what could not be drawn; what is drawn next is tried again. */
type Props = { of: string; instead: ReactNode; children: ReactNode };
type State = { failed: string | null };

export class Guarded extends Component<Props, State> {
  override state: State = { failed: null };

  static getDerivedStateFromError(): State {
    return { failed: '' };
  }

  /** A block that has grown is another one: it may be drawn. */
  static getDerivedStateFromProps({ of }: Props, { failed }: State): State | null {
    if (failed === '') return { failed: of };
    return failed !== null && failed !== of ? { failed: null } : null;
  }

  override render(): ReactNode {
    return this.state.failed === null ? this.props.children : this.props.instead;
  }
}

const Rendered = lazyWithRetry(() => import('./Rendered'));
const Diagram = lazyWithRetry(() => import('./Diagram'));
const Footnotes = lazyWithRetry(() => import('./Footnotes'));

/** Letters of a long answer that are drawn in one go, from its end: about a screen. */
export const PROSE_AT_ONCE = 3000;

/** Blocks that are looked at together. */
const SHELF = 32;

/** Letters in a line, about. */
const LETTERS_IN_LINE = 80;

/** An open block longer than this is parsed again only when it has grown by a tenth: the whole stays linear. */
const LONG_BLOCK = 1500;
const GROWTH = 1.1;

/** A block that is longer, and could not be cut, is shown as it was written: its parser would hold up the page. */
const LONGEST_PARSED = 12_000;

export const Prose = memo(function Prose({ text, live }: { text: string; live: boolean }) {
  const before = useRef<{ text: string; cut: Cut }>({ text: '', cut: { blocks: [], length: 0 } });
  const grown = text.startsWith(before.current.text) ? before.current.cut : undefined;
  const now = cut(text, grown);
  before.current = { text, cut: now };
  const from = useTail(text.length, PROSE_AT_ONCE);
  const links = useMemo(() => (live ? '' : definitions(text)), [text, live]);
  const notes = useMemo(() => (live ? [] : footnotes(text)), [text, live]);
  const numbers = useMemo(() => numbersOf(notes), [notes]);
  const open = live ? now.blocks.at(-1) : undefined;
  return (
    <GrowingText value={live}>
      <div className="prose">
        {shelves(now.blocks).map((blocks) => (
          <Shelf
            key={blocks[0]!.start}
            blocks={blocks}
            from={from}
            links={links}
            notes={numbers}
            open={blocks.at(-1) === open}
          />
        ))}
        {notes.length > 0 && (
          <Suspense>
            <Footnotes
              notes={notes}
              draw={(note) => <Parsed text={sourceOf({ start: 0, text: note }, links)} notes={numbers} />}
            />
          </Suspense>
        )}
      </div>
    </GrowingText>
  );
});

/** As text, since texts are compared by what they say. */
function numbersOf(notes: readonly Footnote[]): string {
  return notes.length > 0 ? JSON.stringify(notes.map(({ name, number }) => [name, number])) : '';
}

type ShelfProps = { blocks: readonly Block[]; from: number; links: string; notes: string; open: boolean };

/**
 * Some blocks of a text. What is added to the text changes the last shelf only, so the others are not even looked
 * through, by React or by the browser: it skips a shelf that is not seen (`chat.css`), and asks for each one in each
 * frame.
 */
const Shelf = memo(
  function Shelf({ blocks, from, links, notes, open }: ShelfProps) {
    const last = open ? blocks.at(-1) : undefined;
    if (endOf(blocks.at(-1)!) <= from) return null;
    const shown = blocks.map((block) =>
      endOf(block) <= from ? null : (
        <div className="block" key={block.start} data-head={isHead(block) || undefined}>
          <Growing
            text={sourceOf(block, block === last ? '' : links)}
            notes={block.text.includes('[^') ? notes : ''}
            open={block === last}
          />
        </div>
      ),
    );
    return (
      <div
        className="shelf"
        data-head={isHead(blocks[0]!) || undefined}
        style={{ '--lines': linesOf(blocks) } as CSSProperties}
      >
        {shown}
      </div>
    );
  },
  (before, now) =>
    before.links === now.links &&
    before.notes === now.notes &&
    before.open === now.open &&
    before.blocks.length === now.blocks.length &&
    // A block is made again when it changes, and only the last one of a text does.
    before.blocks[0] === now.blocks[0] &&
    before.blocks.at(-1) === now.blocks.at(-1) &&
    (before.from === now.from || Math.max(before.from, now.from) <= now.blocks[0]!.start),
);

function shelves(blocks: readonly Block[]): readonly (readonly Block[])[] {
  return Array.from({ length: Math.ceil(blocks.length / SHELF) }, (_, at) =>
    blocks.slice(at * SHELF, (at + 1) * SHELF),
  );
}

function isHead({ text }: Block): boolean {
  return text.startsWith('#');
}

/** Guess how many lines blocks take that were never laid out: the scrollbar goes by it (`chat.css`). */
function linesOf(blocks: readonly Block[]): number {
  const letters = endOf(blocks.at(-1)!) - blocks[0]!.start;
  return Math.round(letters / LETTERS_IN_LINE + blocks.length);
}

function endOf({ start, text }: Block): number {
  return start + text.length;
}

/** What is to be parsed: a block with what it needs of the rest of the text. */
function sourceOf({ head = '', text }: Block, links: string): string {
  const needed = links && text.includes('[') ? used(links, text) : '';
  return needed ? `${head}${text}\n\n${needed}` : head + text;
}

/** A block as far as it has come; one that grows long is parsed now and then, and its news stand behind it. */
const Growing = memo(function Growing({ text, notes, open }: { text: string; notes: string; open: boolean }) {
  const parsed = useRef('');
  const isDue =
    !open ||
    text.length < LONG_BLOCK ||
    text.length > parsed.current.length * GROWTH ||
    !text.startsWith(parsed.current);
  if (isDue) parsed.current = text;
  const rest = text.slice(parsed.current.length);
  const code = fenced(text);
  const source = code?.code.trimEnd() ?? '';
  if (code && !open && isDiagram(code.language)) {
    return (
      <Suspense fallback={<Code language={code.language} code={source} />}>
        <Diagram source={source} />
      </Suspense>
    );
  }
  if (code) return <Code language={code.language} live={open} code={open ? code.code : code.code.replace(/\n$/, '')} />;
  return (
    <OpenBlock value={open}>
      <Parsed text={parsed.current} notes={notes} />
      {rest && <Plain>{rest}</Plain>}
    </OpenBlock>
  );
});

const Parsed = memo(function Parsed({ text, notes }: { text: string; notes: string }) {
  const { text: short, images } = takeImages(text);
  const plain = <Plain>{short}</Plain>;
  if (short.length > LONGEST_PARSED) return plain;
  return (
    <Guarded of={text} instead={plain}>
      <Suspense fallback={plain}>
        <Rendered text={short} images={images} notes={notes} />
      </Suspense>
    </Guarded>
  );
});

/** Tell whether a fence names a diagram. */
function isDiagram(language: string): boolean {
  return /^\{?mermaid\b/i.test(language);
}

function Plain({ children }: { children: ReactNode }) {
  return <p className="plain">{children}</p>;
}
