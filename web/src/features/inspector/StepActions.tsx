/** What can be done with the selected step: run it again, compare, evaluate, share, copy as a test. */
import { useCommands } from '../../app/commands';
import { placeOf } from '../../film/joined';
import { shared } from '../../film/sharedFile';
import { Copy, copyText } from '../../ui/Copy';
import { Icon } from '../../ui/Icon';
import type { PanelProps } from '../feature';
import { useFeatures } from '../registry';
import type { Step } from '../tree/steps';
import { testOf } from './testCode';

export function StepActions({ film, app, step, turns, turn }: PanelProps & { step: Step }) {
  const features = useFeatures();
  const isLater = turns.length > 0 && turns[0]?.message !== turn;
  const code = () => testOf(film, step, isLater);
  useCommands(() =>
    shared()
      ? []
      : [
          {
            id: 'copy as test',
            group: 'Actions',
            title: 'Copy as test',
            hint: `${step.name} pytest recording`,
            icon: 'code',
            run: () => void copyText(code()),
          },
        ],
  );
  if (shared()) return null;
  const { run } = placeOf(film, step.since);
  const links = features
    .flatMap(({ runActions }) => runActions?.(run, app) ?? [])
    .flatMap((action) => ('link' in action ? [action] : []));
  return (
    <>
      {links.map(({ icon, word, link }) => (
        <a key={word} className="button" data-look="quiet" href={link}>
          <Icon name={icon} /> {word}
        </a>
      ))}
      <Copy label="Copy as test" text={code}>
        Copy as test
      </Copy>
    </>
  );
}
