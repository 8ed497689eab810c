/** Links between a conversation and its forks. */
import { useCatalogue } from '../app/catalogue';
import { formatRoute, HOME } from '../app/route';
import { Icon } from '../ui/Icon';
import type { Lineage } from './useLineage';
import * as words from '../words/workspace';

const LONGEST = 40;

/** The link to the moment from which a conversation was forked. */
export function ForkedFrom({ lineage }: { lineage: Lineage | null }) {
  const { conversations } = useCatalogue();
  const point = lineage?.forkedFrom;
  if (!lineage || !point) return null;
  const origin = conversations?.find(({ session }) => session === point.session);
  const title = (origin?.title || lineage.said).slice(0, LONGEST) || 'a run';
  return (
    <a className="chip" data-kind="neutral" title={words.openTheOriginal} href={formatRoute({ ...HOME, place: { kind: 'run', run: point.run }, at: point.at })}>
      <Icon name="branch" /> {point.rerun ? words.rerunOf(title) : words.forkOfAtEvent(title, point.at)}
    </a>
  );
}

/** The forks of a conversation, newest first. */
export function Forks({ options, lineage }: { options: Record<string, string>; lineage: Lineage | null }) {
  if (!lineage?.forks.length) return null;
  return (
    <details className="forks">
      <summary className="button" data-look="quiet">
        <Icon name="branch" /> {lineage.forks.length === 1 ? words.oneFork : words.forks(lineage.forks.length)}
      </summary>
      <ul className="menu">
        {lineage.forks.toReversed().map(({ app, session, at }) => (
          <li key={session}>
            <a href={formatRoute({ ...HOME, place: { kind: 'chat', app, session }, options })}>
              {words.forkAtEvent(at)}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
