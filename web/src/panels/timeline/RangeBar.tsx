/** What is in the picked range, in one line. */
import { useMemo } from 'react';
import type { Film } from '../../film/film';
import { rangeSummary } from '../../film/range';
import { Icon } from '../../ui/Icon';
import { duration, number, plural } from '../../ui/format';
import { costWords } from '../../ui/tokens';
import type { PickedRange } from './range';
import * as wording from '../../words/timeline';

const NAMED = 4; // Tools by name; the rest are counted.

export function RangeBar({ film, picked }: { film: Film; picked: PickedRange }) {
  const { range, isOpen } = picked;
  const summary = useMemo(() => range && rangeSummary(film, range), [film, range?.from, range?.to]);
  if (!range || !summary) return null;
  const { tools, toolCalls, modelCalls, tokens, cost, failures } = summary;
  const facts = [
    duration(summary.duration),
    toolCalls > 0 ? `${plural(toolCalls, wording.toolCall)} (${named(tools)})` : wording.noToolCalls,
    modelCalls > 0 && plural(modelCalls, wording.modelCall),
    plural(tokens, 'token'),
    costWords(cost),
    failures > 0 && plural(failures, 'failure'),
  ];
  return (
    <div className="range-bar" role="group" aria-label={wording.selectedRange}>
      <span className="range-words" role={isOpen ? undefined : 'status'}>
        <b>{range.from === range.to ? wording.eventTitle(range.from) : wording.eventsTo(range.from, range.to)}</b> {facts.filter(Boolean).join(' · ')}
      </span>
      {isOpen && (
        <button type="button" className="button" title={wording.endTheRange} onClick={picked.end}>
          {wording.endHere}
        </button>
      )}
      <button type="button" className="button" data-look="quiet" data-square="" aria-label={wording.clearTheRange} title={wording.clearTheRangeEsc} onClick={picked.clear}>
        <Icon name="cross" />
      </button>
    </div>
  );
}

function named(tools: readonly [string, number][]): string {
  const words = tools.slice(0, NAMED).map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  return [...words, ...(tools.length > NAMED ? [wording.more(number(tools.length - NAMED))] : [])].join(', ');
}
