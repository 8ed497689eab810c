/** One run: the chat, the panels beside it that are open, the timeline below. */
import { memo, Suspense, useCallback, useDeferredValue, useMemo, type ReactNode, useEffect, useRef } from 'react';
import { RunContext } from '../chat/ChatContext';
import { Failure } from '../app/Failure';
import { useKeys } from '../app/keys';
import { currentRoute, useRoute } from '../app/route';
import type { FilmState } from '../film/useFilm';
import { usePanels } from '../features/registry';
import type { PanelProps, PanelSpec } from '../features/feature';
import { Empty } from '../ui/elements';
import { Icon } from '../ui/Icon';
import { CHAT_ALONE, openPanels, panelNamed, togglePanel, useRoom, useSuggestedPanel } from './openPanels';
import { PanelSlot } from './PanelSlot';
import type { Playhead } from './playhead';
import { showDetails, useDetails } from '../chat/details';
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

export function Workspace({
  heading,
  actions,
  state,
  playhead,
  part = '',
  app,
  session,
  empty,
  chat,
  say,
  follow,
}: Props) {
  const [route, move] = useRoute();
  const { film, live, error } = state;
  const room = useRoom();
  const isAlone = room === 'one';
  const panels = usePanels();
  const open = openPanels(route, room, useSuggestedPanel(film), film !== null, panels);
  const toggle = (panel: PanelSpec) => move(togglePanel(route, panel, open, room), 'replace');
  const pick = (panel: PanelSpec) => (isAlone ? move({ panel: panel.name }, 'replace') : toggle(panel));
  const toggleNamed = (name: string) => {
    const panel = panelNamed(name);
    if (panel) toggle(panel);
  };
  useKeys({ panel: toggleNamed, end: playhead.toEnd });

  const { at, seek } = playhead;
  const select = useCallback((id: string | null) => move({ selected: id }, 'replace'), [move]);
  const inspect = useCallback(
    (name: string) => {
      const [spec, choice] = [panelNamed(name), currentRoute()];
      const there = openPanels(choice, room, null, true);
      if (spec && there.side !== spec) move(togglePanel(choice, spec, there, room), 'replace');
    },
    [move, room],
  );
  const props = useMemo<PanelProps | null>(
    () => film && { film, at, selected: route.selected, select, seek, inspect, app, session, live, say, follow },
    [film, at, route.selected, select, seek, inspect, app, session, live, say, follow],
  );
  // While the playhead moves, the timeline moves with it; all else follows when there is time.
  const rested = useDeferredValue(props);
  const show = (panel: PanelSpec) =>
    rested ? <Shown panel={panel} props={rested} /> : <Empty title={panel.title}>{error ?? empty}</Empty>;
  const focus = isAlone ? (panelNamed(route.panel)?.name ?? CHAT_ALONE) : '';
  const shown = [open.centre, open.side].filter((panel) => panel !== null);
  return (
    <div className="workspace" data-focus={focus || undefined}>
      <header className="work-head">
        <h1>{heading}</h1>
        <div className="actions">
          {!isAlone && (
            <PanelBar
              panels={panels.filter(({ place }) => place !== 'bottom')}
              open={shown.map(({ name }) => name)}
              onPick={pick}
            />
          )}
          <DetailsSwitch />
          {actions}
        </div>
      </header>
      {isAlone && (
        <PanelBar
          panels={panels}
          open={focus === CHAT_ALONE ? [] : [focus]}
          onPick={pick}
          onChat={() => move({ panel: CHAT_ALONE }, 'replace')}
        />
      )}
      <Notices playhead={playhead} last={film?.last} part={part} error={film ? error : null} />
      <div className="work-body" hidden={isAlone && focus !== CHAT_ALONE && shown.length === 0}>
        <section className="pane chat-pane" aria-label="Chat" hidden={isAlone && focus !== CHAT_ALONE}>
          <h2 className="visually-hidden">Chat</h2>
          <RunContext value={film}>{chat}</RunContext>
        </section>
        {shown.map((panel) =>
          isAlone ? (
            <div className="pane" key={panel.name}>
              {show(panel)}
            </div>
          ) : (
            <PanelSlot
              key={panel.place}
              place={panel.place === 'centre' ? 'centre' : 'side'}
              title={panel.title}
              onClose={() => toggle(panel)}
            >
              <div className="pane" key={panel.name}>
                {show(panel)}
              </div>
            </PanelSlot>
          ),
        )}
      </div>
      {props &&
        panels
          .filter(({ place }) => place === 'bottom')
          .map((panel) => (
            <div key={panel.name} className="bottom" hidden={isAlone && focus !== panel.name && focus !== CHAT_ALONE}>
              <Shown panel={panel} props={props} />
            </div>
          ))}
    </div>
  );
}

type NoticesProps = { playhead: Playhead; last: number | undefined; part: string; error: string | null };

/** That the past is shown, and that the run cannot be followed. */
function Notices({ playhead, last, part, error }: NoticesProps) {
  return (
    <>
      {playhead.isPast && (
        <div className="notice past" data-kind="approval" role="status">
          <Icon name="clock" />
          <span>
            Viewing the past: event {playhead.at} of {last}
            {part && `, ${part}`}.
          </span>
          <span className="actions">
            <button type="button" className="button" onClick={playhead.toEnd}>
              Back to latest <kbd>e</kbd>
            </button>
          </span>
        </div>
      )}
      {error && (
        <div className="notice past" data-kind="error" role="alert">
          <Icon name="error" /> {error}
        </div>
      )}
    </>
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

/** Shows or hides how answers came about: thoughts, and changes of the state. */
function DetailsSwitch() {
  const isShown = useDetails();
  const turn = () => showDetails(!isShown);
  useKeys({ details: turn });
  return (
    <button
      type="button"
      className="button"
      data-look="quiet"
      aria-pressed={isShown}
      title={`${isShown ? 'Hide' : 'Show'} thoughts and state changes (d)`}
      onClick={turn}
    >
      Details
    </button>
  );
}

/** One button for each panel: tabs where there is room for one thing at a time, else switches. */
type PanelBarProps = {
  panels: readonly PanelSpec[];
  /** Names of those that are shown. */
  open: readonly string[];
  onPick(panel: PanelSpec): void;
  /** Show the chat again; absent where it is always shown. */
  onChat?: () => void;
};

function PanelBar({ panels, open, onPick, onChat }: PanelBarProps) {
  return (
    <nav className="tabs" aria-label="Panels" data-alone={onChat ? '' : undefined}>
      {onChat && <Tab title="Chat" isOpen={open.length === 0} onPick={onChat} />}
      {panels.map((panel) => (
        <Tab
          key={panel.name}
          title={panel.title}
          keys={panel.key}
          isOpen={open.includes(panel.name)}
          onPick={() => onPick(panel)}
        />
      ))}
    </nav>
  );
}

function Tab({ title, keys, isOpen, onPick }: { title: string; keys?: string; isOpen: boolean; onPick: () => void }) {
  const tab = useRef<HTMLButtonElement>(null);
  // Where tabs are scrolled, the one that is open is seen.
  useEffect(() => {
    if (isOpen) tab.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isOpen]);
  return (
    <button
      ref={tab}
      type="button"
      className="tab"
      aria-pressed={isOpen}
      title={keys ? `${title} (${keys})` : title}
      onClick={onPick}
    >
      {title}
    </button>
  );
}
