/** One run, all its panels: chat and graph in the centre, the inspector at the right, the timeline below. */
import { memo, Suspense, useCallback, useDeferredValue, useMemo, type ReactNode } from 'react';
import { Failure } from '../app/Failure';
import { useKeys } from '../app/keys';
import { useRoute } from '../app/route';
import type { FilmState } from '../film/useFilm';
import { PANELS } from '../panels';
import type { PanelProps, PanelSpec } from '../panels/panel';
import { Empty } from '../ui/Empty';
import { Icon } from '../ui/Icon';
import { useMediaQuery } from './useMediaQuery';
import type { Playhead } from './playhead';
import './work.css';

type Props = {
  /** What the page's one h1 says. */
  heading: ReactNode;
  actions: ReactNode;
  state: FilmState;
  playhead: Playhead;
  /** Which run of an answer that spans several this is. */
  part?: string;
  app: string;
  session: string;
  /** What the panels say while there is no run yet. */
  empty: string;
  chat: ReactNode;
} & Pick<PanelProps, 'say' | 'follow'>;

const CENTRE = PANELS.filter((panel) => panel.place === 'centre');
const INSPECTOR = PANELS.filter((panel) => panel.place === 'inspector');
const BOTTOM = PANELS.filter((panel) => panel.place === 'bottom');

/** Side by side from here on: below, chat and graph would both be too narrow to read. */
const WIDE = '(min-width: 1360px)';
const NARROW = '(max-width: 820px)';

export function Workspace({ heading, actions, state, playhead, part = '', app, session, empty, chat, say, follow }: Props) {
  const [route, move] = useRoute();
  const { film, live, error } = state;
  const isWide = useMediaQuery(WIDE);
  const isNarrow = useMediaQuery(NARROW);
  const chosen = PANELS.find((panel) => panel.name === route.panel) ?? null;
  const inspected = INSPECTOR.find((panel) => panel.name === (chosen?.place === 'inspector' ? chosen.name : route.options.side)) ?? INSPECTOR[0] ?? null;
  const centre = chosen?.place === 'centre' ? chosen : null;
  // Asked for, or wide enough and not put away.
  const beside = centre ?? (isWide && route.options.centre !== 'chat' ? (CENTRE[0] ?? null) : null);
  const open = (name: string | null) => {
    const panel = PANELS.find((spec) => spec.name === name);
    const side = panel?.place === 'inspector' ? panel.name : (inspected?.name ?? '');
    const options = { ...route.options, side: side === INSPECTOR[0]?.name ? '' : side, centre: panel?.place === 'centre' ? '' : (route.options.centre ?? '') };
    move({ panel: name, options }, 'replace');
  };
  const toggleCentre = (name: string) => {
    if (beside?.name === name) move({ panel: centre ? null : route.panel, options: { ...route.options, centre: 'chat' } }, 'replace');
    else open(name);
  };
  useKeys({ panel: (name) => (CENTRE.some((spec) => spec.name === name) ? toggleCentre(name) : open(name)), end: playhead.toEnd });

  const { at, seek } = playhead;
  const select = useCallback((id: string | null) => move({ selected: id }, 'replace'), [move]);
  const props = useMemo<PanelProps | null>(
    () => film && { film, at, selected: route.selected, select, seek, app, session, live, say, follow },
    [film, at, route.selected, select, seek, app, session, live, say, follow],
  );
  // While the playhead moves, the timeline moves with it; all else follows when there is time.
  const rested = useDeferredValue(props);
  const show = (panel: PanelSpec) =>
    rested ? <Shown panel={panel} props={rested} /> : <Empty title={panel.title}>{error ?? empty}</Empty>;
  const focus = isNarrow ? (chosen?.name ?? 'chat') : '';
  return (
    <div className="workspace" data-beside={beside ? '' : undefined} data-focus={focus || undefined}>
      <header className="work-head">
        <h1>{heading}</h1>
        <div className="actions">
          {CENTRE.map((panel) => (
            <button key={panel.name} type="button" className="button wide-only" data-look="quiet" aria-pressed={beside?.name === panel.name} title={`${panel.title} (${panel.key})`} onClick={() => toggleCentre(panel.name)}>
              <Icon name="branch" /> {panel.title}
            </button>
          ))}
          {actions}
        </div>
      </header>
      {isNarrow && <Tabs panels={[...CENTRE, ...INSPECTOR, ...BOTTOM]} current={focus} onPick={open} />}
      {playhead.isPast && (
        <div className="notice past" data-kind="approval" role="status">
          <Icon name="clock" />
          <span>
            Viewing the past: event {at} of {film?.last}
            {part && `, ${part}`}.
          </span>
          <span className="actions">
            <button type="button" className="button" onClick={playhead.toEnd}>
              Back to latest <kbd>e</kbd>
            </button>
          </span>
        </div>
      )}
      {error && film && (
        <div className="notice past" data-kind="error" role="alert">
          <Icon name="error" /> {error}
        </div>
      )}
      <div className="centre" data-narrow={!isWide && centre ? '' : undefined} hidden={isNarrow && focus !== 'chat' && centre === null}>
        <section className="pane chat-pane" aria-label="Chat" hidden={centre !== null && !isWide}>
          <h2 className="visually-hidden">Chat</h2>
          {chat}
        </section>
        {beside && (
          <div className="pane graph-pane">{show(beside)}</div>
        )}
      </div>
      {inspected && (
        <aside className="inspector" aria-label="Inspector" hidden={isNarrow && chosen?.place !== 'inspector'}>
          {!isNarrow && <Tabs panels={INSPECTOR} current={inspected.name} onPick={open} />}
          <div className="pane" key={inspected.name}>
            {show(inspected)}
          </div>
        </aside>
      )}
      {props &&
        BOTTOM.map((panel) => (
          <div key={panel.name} className="bottom" hidden={isNarrow && focus !== panel.name && focus !== 'chat'}>
            <Shown panel={panel} props={props} />
          </div>
        ))}
    </div>
  );
}

const Shown = memo(function Shown({ panel, props }: { panel: PanelSpec; props: PanelProps }) {
  const { Panel, title } = panel;
  return (
    <Failure what={title} key={props.film.run}>
      <Suspense fallback={<div className="skeleton pane-skeleton" />}>
        <Panel {...props} />
      </Suspense>
    </Failure>
  );
});

type TabsProps = { panels: readonly PanelSpec[]; current: string; onPick(name: string | null): void };

function Tabs({ panels, current, onPick }: TabsProps) {
  const withChat = !panels.every((panel) => panel.place === 'inspector');
  return (
    <nav className="tabs" aria-label={withChat ? 'Panels' : 'Inspector'}>
      {withChat && <Tab title="Chat" isCurrent={current === 'chat'} onPick={() => onPick(null)} />}
      {panels.map((panel) => (
        <Tab key={panel.name} title={panel.title} keys={panel.key} isCurrent={current === panel.name} onPick={() => onPick(panel.name)} />
      ))}
    </nav>
  );
}

function Tab({ title, keys, isCurrent, onPick }: { title: string; keys?: string; isCurrent: boolean; onPick: () => void }) {
  return (
    <button type="button" className="tab" aria-current={isCurrent ? 'true' : undefined} title={keys ? `${title} (${keys})` : title} onClick={onPick}>
      {title}
    </button>
  );
}
