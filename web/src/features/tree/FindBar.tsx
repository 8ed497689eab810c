/** The timeline's filter: what is looked for, how often it is there, and the way from one match to the next. */
import { useEffect, useMemo, useRef } from 'react';
import { useRoute, currentRoute } from '../../app/route';
import { KINDS, matchesIn, namesOf, type Wanted } from './find';
import type { Film } from '../../film/film';
import { Icon } from '../../ui/Icon';
import { plural, duration, number, costWords } from '../../ui/format';
import { eventNumber } from '../../film/events';
import { rangeSummary, type Range } from '../../film/failures';

// What is in the picked range, in one line.

/**
 * The range that is picked out in the timeline. The address keeps it: `range=12-48`. With one end, `range=12`, the
 * other is the playhead, wherever it goes: so a range is made with a finger, or with the keys that move the playhead.
 */
type PickedRange = {
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
  const ends = [Number(one), other === undefined ? at : Number(other)].map((cursor) =>
    Math.min(last, Math.max(1, cursor)),
  );
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

/**
 * A range is of one run: when the same chat shows another, it is cleared. An address that was opened since keeps its
 * own.
 */
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

function rangeWords(from: number, to: number): string {
  return from === to ? `Event ${number(from)}` : `Events ${number(from)} to ${number(to)}`;
}

const NAMED = 4; // Tools by name; the rest are counted.

export function RangeBar({ film, picked }: { film: Film; picked: PickedRange }) {
  const { range, isOpen } = picked;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the range is a new object with every render
  const summary = useMemo(() => range && rangeSummary(film, range), [film, range?.from, range?.to]);
  if (!range || !summary) return null;
  const { tools, toolCalls, modelCalls, tokens, cost, failures } = summary;
  const facts = [
    duration(summary.duration),
    toolCalls > 0 ? `${plural(toolCalls, 'tool call')} (${named(tools)})` : 'no tool calls',
    modelCalls > 0 && plural(modelCalls, 'model call'),
    plural(tokens, 'token'),
    costWords(cost),
    failures > 0 && plural(failures, 'failure'),
  ];
  return (
    <div className="range-bar" role="group" aria-label="Selected range">
      <span className="range-words" role={isOpen ? undefined : 'status'}>
        <b>{rangeWords(eventNumber(film, range.from), eventNumber(film, range.to))}</b>{' '}
        {facts.filter(Boolean).join(' · ')}
      </span>
      {isOpen && (
        <button type="button" className="button" title="End the range at the playhead (])" onClick={picked.end}>
          End here
        </button>
      )}
      <button
        type="button"
        className="button"
        data-look="quiet"
        data-square=""
        aria-label="Clear the range"
        title="Clear the range (Esc)"
        onClick={picked.clear}
      >
        <Icon name="cross" />
      </button>
    </div>
  );
}

function named(tools: readonly [string, number][]): string {
  const words = tools.slice(0, NAMED).map(([name, count]) => (count > 1 ? `${name} ×${number(count)}` : name));
  return [...words, ...(tools.length > NAMED ? [`${number(tools.length - NAMED)} more`] : [])].join(', ');
}

/** What is looked for is part of the address: a search over runs leads here. */
export function useFind(film: Film, seek: (cursor: number) => void) {
  const [{ at, options }, move] = useRoute();
  const text = options.find ?? '';
  const within = options.in ?? '';
  const matches = useMemo(() => matchesIn(film, { text, within }), [film, text, within]);
  const wanted: Wanted = { text, within };
  const change = (news: Partial<Wanted>) => {
    const next = { ...wanted, ...news };
    move({ options: { ...options, find: next.text, in: next.within } }, 'replace');
  };
  // Whoever comes with a search and without a place is taken to the first match.
  const arriving = useRef(at === null && matches.length > 0);
  const first = matches[0];
  useEffect(() => {
    if (arriving.current && first !== undefined) seek(first);
    arriving.current = false;
  });
  return { wanted, matches, change };
}

type Props = {
  film: Film;
  at: number;
  wanted: Wanted;
  matches: readonly number[];
  change(news: Partial<Wanted>): void;
  next(): void;
  previous(): void;
};

export function FindBar({ film, at, wanted, matches, change, next, previous }: Props) {
  const { tools, agents } = namesOf(film);
  const isAsking = wanted.text.trim() !== '' || wanted.within !== '';
  return (
    <search className="find">
      <input
        type="search"
        className="field"
        placeholder="Find in run"
        aria-label="Find in run"
        value={wanted.text}
        onChange={(event) => change({ text: event.currentTarget.value })}
        onKeyDown={(event) => event.key === 'Enter' && (event.shiftKey ? previous : next)()}
      />
      <select
        className="field"
        aria-label="Find in"
        value={wanted.within}
        onChange={(event) => change({ within: event.currentTarget.value })}
      >
        <option value="">all events</option>
        <Group label="Kind" prefix="kind" names={KINDS} />
        <Group label="Tool" prefix="tool" names={tools} />
        <Group label="Agent" prefix="agent" names={agents} />
      </select>
      {isAsking && (
        <>
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            data-way="back"
            aria-label="Previous match"
            title="Previous match (N)"
            disabled={matches.length === 0}
            onClick={previous}
          >
            <Icon name="chevron" />
          </button>
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            aria-label="Next match"
            title="Next match (n)"
            disabled={matches.length === 0}
            onClick={next}
          >
            <Icon name="chevron" />
          </button>
          <output className="matches">{standing(matches, at)}</output>
        </>
      )}
    </search>
  );
}

function Group({ label, prefix, names }: { label: string; prefix: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <optgroup label={label}>
      {names.map((name) => (
        <option key={name} value={`${prefix}:${name}`}>
          {name}
        </option>
      ))}
    </optgroup>
  );
}

function standing(matches: readonly number[], at: number): string {
  if (matches.length === 0) return 'No matches';
  const place = matches.indexOf(at);
  return place < 0 ? plural(matches.length, 'match', 'matches') : `${number(place + 1)} of ${number(matches.length)}`;
}
