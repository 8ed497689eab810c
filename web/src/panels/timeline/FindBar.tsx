/** The timeline's filter: what is looked for, how often it is there, and the way from one match to the next. */
import { useEffect, useMemo, useRef } from 'react';
import { useRoute } from '../../app/route';
import { KINDS, matchesIn, namesOf, type Wanted } from '../../film/find';
import type { Film } from '../../film/film';
import { Icon } from '../../ui/Icon';
import { plural } from '../../ui/format';
import * as words from '../../words/timeline';

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

type Props = { film: Film; at: number; wanted: Wanted; matches: readonly number[]; change(news: Partial<Wanted>): void; next(): void; previous(): void };

export function FindBar({ film, at, wanted, matches, change, next, previous }: Props) {
  const { tools, agents } = namesOf(film);
  const isAsking = wanted.text.trim() !== '' || wanted.within !== '';
  return (
    <search className="find">
      <input
        type="search"
        className="field"
        placeholder={words.findInRun}
        aria-label={words.findInRun}
        value={wanted.text}
        onChange={(event) => change({ text: event.currentTarget.value })}
        onKeyDown={(event) => event.key === 'Enter' && (event.shiftKey ? previous : next)()}
      />
      <select className="field" aria-label={words.findIn} value={wanted.within} onChange={(event) => change({ within: event.currentTarget.value })}>
        <option value="">{words.allEvents}</option>
        <Group label={words.kind} prefix="kind" names={KINDS} />
        <Group label={words.tool} prefix="tool" names={tools} />
        <Group label={words.agent} prefix="agent" names={agents} />
      </select>
      {isAsking && (
        <>
          <button type="button" className="button" data-look="quiet" data-square="" data-way="back" aria-label={words.previousMatch} title={words.previousMatchN} disabled={matches.length === 0} onClick={previous}>
            <Icon name="chevron" />
          </button>
          <button type="button" className="button" data-look="quiet" data-square="" aria-label={words.nextMatch} title={words.nextMatchN} disabled={matches.length === 0} onClick={next}>
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
  if (matches.length === 0) return words.noMatches;
  const place = matches.indexOf(at);
  return place < 0 ? plural(matches.length, 'match', 'matches') : words.matchOf(place + 1, matches.length);
}
