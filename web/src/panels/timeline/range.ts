/**
 * The range that is picked out in the timeline. The address keeps it: `range=12-48`. With one end, `range=12`, the other
 * is the playhead, wherever it goes: so a range is made with a finger, or with the keys that move the playhead.
 */
import { useEffect, useMemo, useRef } from 'react';
import { currentRoute, useRoute } from '../../app/route';
import type { Range } from '../../film/range';

export type PickedRange = {
  /** Null: nothing is picked out. */
  range: Range | null;
  /** Its other end follows the playhead. */
  isOpen: boolean;
  pick(from: number, to: number): void;
  /** Begin at the playhead, or move the beginning of a range there. */
  begin(): void;
  /** End at the playhead, or move the end of a range there. */
  end(): void;
  clear(): void;
};

const WRITTEN = /^(\d{1,15})(?:-(\d{1,15}))?$/;

/** Return the range that an address names, as far as the run has it. */
export function readRange(text: string, at: number, last: number): { range: Range; isOpen: boolean } | null {
  const [, one, other] = WRITTEN.exec(text) ?? [];
  if (one === undefined || last < 1) return null;
  const ends = [Number(one), other === undefined ? at : Number(other)].map((cursor) => Math.min(last, Math.max(1, cursor)));
  return { range: { from: Math.min(...ends), to: Math.max(...ends) }, isOpen: other === undefined };
}

export function useRange(at: number, last: number): PickedRange {
  const [{ options }, move] = useRoute();
  const read = useMemo(() => readRange(options.range ?? '', at, last), [options.range, at, last]);
  const write = (range: string) => move({ options: { ...options, range } }, 'replace');
  useLeaving(options.range ?? '', () => move({ options: { ...currentRoute().options, range: '' } }, 'replace'));
  const fixed = read && !read.isOpen ? read.range : null;
  return {
    range: read?.range ?? null,
    isOpen: read?.isOpen ?? false,
    pick: (from, to) => write(`${Math.min(from, to)}-${Math.max(from, to)}`),
    begin: () => write(fixed && at <= fixed.to ? `${at}-${fixed.to}` : String(at)),
    end: () => {
      if (!read) write(`1-${at}`);
      else if (read.isOpen) write(`${read.range.from}-${read.range.to}`);
      else write(`${Math.min(read.range.from, at)}-${at}`);
    },
    clear: () => write(''),
  };
}

/** A range is of one run: when the same chat shows another, it is cleared. An address that was opened since keeps its own. */
function useLeaving(range: string, clear: () => void): void {
  const latest = useRef({ range, clear });
  useEffect(() => {
    latest.current = { range, clear };
  });
  useEffect(
    () => () => {
      const { range, clear } = latest.current;
      if (range !== '' && currentRoute().options.range === range) clear();
    },
    [],
  );
}
