/** Two answers as the chat shows them, side by side, with the words marked that differ. */
import { useEffect, useRef, useState, type RefObject } from 'react';
import { Prose } from '../../chat/markdown/Prose';
import { number, plural } from '../../ui/format';
import { changedWords } from '../../ui/wordDiff';
import '../../chat/chat.css';

export function AnswerPair({ a, b }: { a: string; b: string }) {
  const [left, right] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const counts = useMarkedWords(left, right);
  return (
    <>
      <div className="compare-pair">
        <OneAnswer of="A" text={a} box={left} />
        <OneAnswer of="B" text={b} box={right} />
      </div>
      {a !== b && counts && (
        <p className="quiet" role="status">
          {counts.a + counts.b > 0
            ? `Marked: ${plural(counts.a, 'word')} only in A, ${number(counts.b)} only in B.`
            : 'The words are the same; spaces or formatting differ.'}
        </p>
      )}
    </>
  );
}

function OneAnswer({ of, text, box }: { of: string; text: string; box: RefObject<HTMLDivElement | null> }) {
  return (
    <section className="compare-answer" aria-label={`Answer of ${of}`}>
      <span className="compare-side">{of}</span>
      <div ref={box}>{text ? <Prose text={text} live={false} /> : <span className="quiet">No answer</span>}</div>
    </section>
  );
}

const MARK = 'changed-word'; // As in compare.css.

/**
 * Mark the words of two elements that the other one lacks. The text is drawn by others, and in steps, so that words are
 * marked where they stand and the elements stay as they are.
 */
function useMarkedWords(a: RefObject<HTMLElement | null>, b: RefObject<HTMLElement | null>) {
  const [counts, setCounts] = useState<{ a: number; b: number } | null>(null);
  useEffect(() => {
    const [left, right] = [a.current, b.current];
    if (!left || !right || typeof Highlight === 'undefined') return;
    let marked: Range[] = [];
    const clear = () => {
      const highlight = CSS.highlights.get(MARK);
      for (const range of marked) highlight?.delete(range);
      marked = [];
    };
    const mark = () => {
      clear();
      const [ours, theirs] = [wordsIn(left), wordsIn(right)];
      const changed = changedWords(textsOf(ours), textsOf(theirs));
      const [onlyA, onlyB] = [ours.filter((_, at) => changed.a[at]), theirs.filter((_, at) => changed.b[at])];
      const highlight = CSS.highlights.get(MARK) ?? new Highlight();
      CSS.highlights.set(MARK, highlight);
      marked = [...rangesOf(onlyA), ...rangesOf(onlyB)];
      for (const range of marked) highlight.add(range);
      setCounts({ a: onlyA.length, b: onlyB.length });
    };
    let frame = requestAnimationFrame(mark);
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    });
    for (const box of [left, right]) observer.observe(box, { childList: true, subtree: true, characterData: true });
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      clear();
    };
  }, [a, b]);
  return counts;
}

type Word = { node: Text; start: number; text: string };

function wordsIn(box: HTMLElement): Word[] {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const words: Word[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const found of (node as Text).data.matchAll(/\S+/g)) {
      words.push({ node: node as Text, start: found.index, text: found[0] });
    }
  }
  return words;
}

const textsOf = (words: readonly Word[]): string[] => words.map(({ text }) => text);

/** Words that follow each other are one range, with the spaces between them. */
function rangesOf(words: readonly Word[]): Range[] {
  const ranges: Range[] = [];
  let last: Word | undefined;
  for (const word of words) {
    const { node, start, text } = word;
    const between = last?.node === node ? node.data.slice(last.start + last.text.length, start) : null;
    let range = ranges.at(-1);
    if (!range || between === null || between.trim()) {
      range = new Range();
      range.setStart(node, start);
      ranges.push(range);
    }
    range.setEnd(node, start + text.length);
    last = word;
  }
  return ranges;
}
