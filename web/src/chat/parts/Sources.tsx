/** The sources of a message, numbered as its markers are. */
import { KindChip } from '../../ui/Kind';
import { Icon } from '../../ui/Icon';
import type { NumberedSource } from '../sources';
import * as words from '../../words/chat';

export function Sources({ sources }: { sources: readonly NumberedSource[] }) {
  if (sources.length === 0) return null;
  return (
    <div role="group" className="sources" data-kind="proof" aria-label={words.sources}>
      <KindChip kind="proof">{words.sources}</KindChip>
      <ol>
        {sources.map((source) => (
          <li key={source.number} data-source={source.number} tabIndex={-1}>
            <span className="source-number">{source.number}</span>
            {source.url ? (
              <a href={source.url} target="_blank" rel="noopener noreferrer nofollow">
                {source.title} <Icon name="link" />
              </a>
            ) : (
              <span>{source.title}</span>
            )}
            <span className="quiet">{source.detail}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
