/** What is in the picked range, in one line. */
import { useMemo } from 'react';
import type { Film } from '../../film/film';
import { rangeSummary } from '../../film/range';
import { Icon } from '../../ui/Icon';
import { duration, number, plural } from '../../ui/format';
import { costWords } from '../../ui/tokens';
import type { PickedRange } from './range';

const NAMED = 4; // Tools by name; the rest are counted.

export function RangeBar({ film, picked }: { film: Film; picked: PickedRange }) {
  const { range, isOpen } = picked;
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
        <b>{range.from === range.to ? `Event ${range.from}` : `Events ${range.from} to ${range.to}`}</b> {facts.filter(Boolean).join(' · ')}
      </span>
      {isOpen && (
        <button type="button" className="button" title="End the range at the playhead (])" onClick={picked.end}>
          End here
        </button>
      )}
      <button type="button" className="button" data-look="quiet" data-square="" aria-label="Clear the range" title="Clear the range (Esc)" onClick={picked.clear}>
        <Icon name="cross" />
      </button>
    </div>
  );
}

function named(tools: readonly [string, number][]): string {
  const words = tools.slice(0, NAMED).map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  return [...words, ...(tools.length > NAMED ? [`${number(tools.length - NAMED)} more`] : [])].join(', ');
}
