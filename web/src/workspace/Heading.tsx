/** Which app, which conversation, which model: the line above a run. */
import { useState, type ReactNode } from 'react';
import { isUsable, modelWords, useCatalogue } from '../app/catalogue';
import { Id } from '../ui/Id';
import { KindChip } from '../ui/Kind';
import * as words from '../words/workspace';

type Props = {
  app: string;
  title: string;
  run: string | null;
  /** It was read from an ADK session: this server did not record it. */
  isDerived?: boolean;
  /** What it was forked from. */
  origin?: ReactNode;
};

export function Heading({ app, title, run, isDerived = false, origin }: Props) {
  const { apps } = useCatalogue();
  const entry = apps?.find((known) => known.name === app);
  return (
    <>
      <span className="heading-app">{app}</span>
      {title && <span className="heading-title">{title}</span>}
      {isUsable(entry) && entry.models && (
        <KindChip kind={entry.offline ? 'neutral' : 'text'} icon={entry.offline ? 'play' : 'text'}>
          {modelWords(entry)}
        </KindChip>
      )}
      {isUsable(entry) && <Reloaded key={app} reloads={entry.reloads} />}
      {entry?.error !== undefined && (
        <KindChip kind="error" icon="error" title={entry.error}>
          {words.appDoesNotLoad}
        </KindChip>
      )}
      {isDerived && (
        <KindChip kind="neutral" icon="clock" title={words.readFromTheAdkSession}>
          {words.notRecorded}
        </KindChip>
      )}
      {origin}
      {run && <Id id={run} />}
    </>
  );
}

/** Say that the app's code has changed since this page was opened. */
function Reloaded({ reloads }: { reloads: number }) {
  const [first] = useState(reloads);
  // A list that was asked for earlier may arrive later: what was seen once stays.
  const [highest, setHighest] = useState(reloads);
  if (reloads > highest) setHighest(reloads);
  if (highest === first) return null;
  return (
    <span role="status">
      <KindChip kind="state" icon="retry" title={words.filesOfTheApp}>
        {words.appReloaded}
      </KindChip>
    </span>
  );
}
