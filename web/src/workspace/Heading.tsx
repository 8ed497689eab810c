/** Which app, which conversation, which model: the line above a run. */
import { isUsable, modelWords, useCatalogue } from '../app/catalogue';
import { Id } from '../ui/Id';
import { KindChip } from '../ui/Kind';

type Props = {
  app: string;
  title: string;
  run: string | null;
  /** It was read from an ADK session: this server did not record it. */
  isDerived?: boolean;
};

export function Heading({ app, title, run, isDerived = false }: Props) {
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
      {isDerived && (
        <KindChip kind="neutral" icon="clock" title="Read from the ADK session: streaming and timing details are not available.">
          Not recorded
        </KindChip>
      )}
      {run && <Id id={run} />}
    </>
  );
}
