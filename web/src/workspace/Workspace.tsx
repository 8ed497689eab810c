/** One conversation: the chat on the left, the trace in the middle, the inspector on the right. */
import {
  memo,
  Suspense,
  use,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
} from 'react';
import { createPortal } from 'react-dom';
import { Failure, lazyWithRetry } from '../app/Failure';
import { useCommands, type Command } from '../app/commands';
import { HeaderPlace } from '../app/headerPlace';
import { useKeys } from '../app/keys';
import { currentRoute, useRoute } from '../app/route';
import { MomentContext, RunContext } from '../chat/ChatContext';
import { showDetails, useDetails } from '../chat/details';
import type { PanelProps, PanelSpec } from '../features/feature';
import { usePanels } from '../features/registry';
import type { Turn } from '../features/tree/rows';
import { allSteps, stepNamed, stepNumber } from '../features/tree/steps';
import { callNumber, STEP_ICONS, STEP_WORDS } from '../features/tree/words';
import type { Film } from '../film/film';
import { whyNoFork } from '../film/fork';
import { shared } from '../film/sharedFile';
import { SECOND, timeAt } from '../film/timeline';
import type { FilmState } from '../film/useFilm';
import { Empty } from '../ui/elements';
import { duration, number } from '../ui/format';
import { Icon } from '../ui/Icon';
import { CHAT_ALONE, openPanels, panelNamed, togglePanel, useRoom, useSuggestedPanel } from './openPanels';
import { PanelSlot } from './PanelSlot';
import type { Playhead } from './playhead';
import './work.css';

const TravelKeys = lazyWithRetry(() => import('../features/tree/transport'));
const ForkDialog = lazyWithRetry(async () => ({ default: (await import('../features/state/ForkDialog')).ForkDialog }));

type Props = {
  /** What the page's one h1 says. */
  heading: ReactNode;
  actions: ReactNode;
  state: FilmState;
  playhead: Playhead;
  /** The messages of the conversation; the film is of the one that `turn` names. */
  turns: readonly Turn[];
  turn: string;
  app: string;
  session: string;
  /** What the panels say while there is no run yet. */
  empty: string;
  chat: ReactNode;
} & Pick<PanelProps, 'say' | 'follow'>;

export function Workspace(given: Props) {
  const { heading, actions, state, playhead, turns, turn, app, session, empty, chat, say, follow } = given;
  const [route, move] = useRoute();
  const { film, live, error } = state;
  const room = useRoom();
  const header = use(HeaderPlace);
  const isAlone = room === 'one';
  const panels = usePanels();
  const suggested = useSuggestedPanel(film);
  const open = openPanels(route, room, suggested, film !== null, panels);
  const toggle = (panel: PanelSpec) => move(togglePanel(route, panel, open, room), 'replace');
  const pick = (panel: PanelSpec) => (isAlone ? move({ panel: panel.name }, 'replace') : toggle(panel));

  const { at, seek } = playhead;
  const step = film && stepNamed(film, route.options.step);
  const toggleNamed = (name: string) => {
    const panel = panelNamed(name);
    // With the trace open, its key travels to the selected step.
    if (panel?.place === 'centre' && open.trace && step && at !== (step.until ?? film?.last))
      seek(step.until ?? step.since);
    else if (panel) toggle(panel);
  };
  useKeys({ panel: toggleNamed, end: playhead.toEnd });
  const selectStep = useSelectStep(turns);
  useCommands(() => [
    ...panels.map((panel) => ({
      id: `panel ${panel.name}`,
      group: 'Panels' as const,
      title: panel.title,
      hint: panel.key,
      words: WORDS_OF_PANELS[panel.name],
      icon: 'chevron' as const,
      run: () => move({ panel: panel.name }, 'replace'),
    })),
    ...(film
      ? stepCommands(
          film,
          turns.find(({ message }) => message === turn),
          selectStep,
        )
      : []),
    ...(playhead.isPast
      ? [
          {
            id: 'now',
            group: 'Actions' as const,
            title: 'Back to now',
            hint: 'e',
            icon: 'clock' as const,
            run: playhead.toEnd,
          },
        ]
      : []),
  ]);
  const select = useCallback((id: string | null) => move({ selected: id }, 'replace'), [move]);
  const inspect = useCallback((name: string) => move({ panel: name }, 'replace'), [move]);
  const props = useMemo<PanelProps | null>(
    () =>
      film && {
        film,
        at,
        selected: route.selected,
        select,
        turns,
        turn,
        step,
        selectStep,
        seek,
        inspect,
        app,
        session,
        live,
        say,
        follow,
      },
    [film, at, route.selected, select, turns, turn, step, selectStep, seek, inspect, app, session, live, say, follow],
  );
  // While the playhead moves, the trace moves with it; all else follows when there is time.
  const rested = useDeferredValue(props);
  const show = (panel: PanelSpec) => {
    const now = panel.place === 'centre' ? props : rested;
    return now ? <Shown panel={panel} props={now} /> : <Empty title={panel.title}>{error ?? empty}</Empty>;
  };
  const focus = isAlone ? (panelNamed(route.panel)?.name ?? CHAT_ALONE) : '';
  const shown = [open.trace, open.side].filter((panel) => panel !== null);
  const offered = panels.filter((panel) => shown.includes(panel) || !film || panel.count?.(film) !== 0);
  const slot = (panel: PanelSpec, children: ReactNode) => (
    <PanelSlot
      key={panel.place}
      place={panel.place === 'centre' ? 'centre' : 'side'}
      title={panel.title}
      onClose={() => toggle(panel)}
    >
      {children}
    </PanelSlot>
  );
  const pane = (panel: PanelSpec) => (
    <div className="pane" key={panel.name}>
      {show(panel)}
    </div>
  );
  return (
    <RunContext value={film}>
      <MomentContext value={playhead.isPast ? at : Infinity}>
        <div className="workspace" data-focus={focus || undefined}>
          {header &&
            createPortal(
              <div className="work-head">
                <h1>{heading}</h1>
                <div className="actions">
                  {!isAlone && film && (
                    <PanelBar panels={offered} film={film} open={shown.map(({ name }) => name)} onPick={pick} />
                  )}
                  <ThinkingSwitch />
                  {actions}
                </div>
              </div>,
              header,
            )}
          {isAlone && (film || turns.length > 0 || focus !== CHAT_ALONE) && (
            <PanelBar
              panels={offered}
              film={film}
              open={focus === CHAT_ALONE ? [] : [focus]}
              onPick={pick}
              onChat={() => move({ panel: CHAT_ALONE }, 'replace')}
            />
          )}
          <Notices playhead={playhead} film={film} live={live} error={film ? error : null} />
          <div className="work-body">
            <section className="pane chat-pane" aria-label="Chat" hidden={isAlone && focus !== CHAT_ALONE}>
              <h2 className="visually-hidden">Chat</h2>
              {chat}
            </section>
            {isAlone
              ? shown.map(pane)
              : room === 'panel' && open.trace && open.side
                ? slot(
                    open.side,
                    <div className="stack">
                      {pane(open.side)}
                      {pane(open.trace)}
                    </div>,
                  )
                : shown.map((panel) => slot(panel, pane(panel)))}
          </div>
          {props && !open.trace && (
            <Suspense>
              <TravelKeys key={props.film.run} {...props} />
            </Suspense>
          )}
        </div>
      </MomentContext>
    </RunContext>
  );
}

/** What people look for, by what it is called here. */
const WORDS_OF_PANELS: Readonly<Record<string, string>> = {
  timeline: 'time travel, playhead, waterfall, steps',
  model: 'request, prompt, instruction, context',
  proof: 'confidence, sources, citations',
  event: 'raw, wire output, protocols',
};

/** The steps of the shown answer. */
function stepCommands(film: Film, turn: Turn | undefined, selectStep: PanelProps['selectStep']): Command[] {
  if (!turn) return [];
  return allSteps(film).map((step) => ({
    id: `step ${step.id}`,
    group: 'Steps',
    title: step.kind === 'model' ? `Model call ${callNumber(step)}` : step.name,
    hint: step.kind === 'model' ? step.name : STEP_WORDS[step.kind],
    icon: STEP_ICONS[step.kind],
    run: () => selectStep(turn, step),
  }));
}

/** Select a step: it is inspected, and the playhead stays where it is. */
function useSelectStep(turns: readonly Turn[]): PanelProps['selectStep'] {
  const [, move] = useRoute();
  return useCallback(
    (turn, step) => {
      const { options } = currentRoute();
      const isLast = turn.message === turns.at(-1)?.message;
      const run = isLast ? '' : (turn.runs.at(-1) ?? '');
      const stays = (options.run || '') === run || (isLast && turn.runs.includes(options.run ?? ''));
      move(
        {
          ...(stays ? {} : { at: null }),
          panel: 'step',
          selected: step.kind === 'agent' || step.kind === 'tool' ? step.name : null,
          options: { ...options, step: step.id, ...(stays ? {} : { run }) },
        },
        'replace',
      );
    },
    [move, turns],
  );
}

type NoticesProps = { playhead: Playhead; film: Film | null; live: boolean; error: string | null };

/** That the past is shown, with the ways on from there; and that the run cannot be followed. */
function Notices({ playhead, film, live, error }: NoticesProps) {
  const [isForking, setForking] = useState(false);
  const noFork = film && whyNoFork(film, live);
  useCommands(() =>
    film && noFork === null && !shared()
      ? [
          {
            id: 'fork',
            group: 'Actions',
            title: 'Fork from here',
            hint: whereWords(film, playhead.at),
            icon: 'branch',
            run: () => setForking(true),
          },
        ]
      : [],
  );
  return (
    <>
      {playhead.isPast && film && (
        <div className="notice past" data-kind="approval" role="status">
          <Icon name="clock" />
          <span>{whereWords(film, playhead.at)}</span>
          <span className="actions">
            {!shared() && (
              <button
                type="button"
                className="button"
                disabled={noFork !== null}
                title={noFork ?? 'Start a new conversation from this step'}
                onClick={() => setForking(true)}
              >
                <Icon name="branch" /> Fork from here
              </button>
            )}
            <button type="button" className="button" onClick={playhead.toEnd}>
              Back to now <kbd>e</kbd>
            </button>
          </span>
        </div>
      )}
      {isForking && film && (
        <Suspense>
          <ForkDialog film={film} at={playhead.at} edits={NO_CHANGES} close={() => setForking(false)} />
        </Suspense>
      )}
      {error && (
        <div className="notice past" data-kind="error" role="alert">
          <Icon name="error" /> {error}
        </div>
      )}
    </>
  );
}

const NO_CHANGES: ReadonlyMap<string, never> = new Map<string, never>();

/** Say where the playhead is: "Step 12 of 41 · 1.6 s". */
export function whereWords(film: Film, at: number): string {
  const step = stepNumber(film, at);
  return `Step ${number(step.number)} of ${number(step.of)} · ${duration(timeAt(film, at) / SECOND)}`;
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
function ThinkingSwitch() {
  const isShown = useDetails();
  const turn = () => showDetails(!isShown);
  useKeys({ details: turn });
  useCommands(() => [
    {
      id: 'thinking',
      group: 'Actions',
      title: `${isShown ? 'Hide' : 'Show'} thinking`,
      hint: 'd',
      words: 'settings thoughts state changes details',
      icon: 'reasoning',
      run: turn,
    },
  ]);
  return (
    <button
      type="button"
      className="button"
      data-look="quiet"
      aria-pressed={isShown}
      title={`${isShown ? 'Hide' : 'Show'} thoughts and state changes (d)`}
      onClick={turn}
    >
      <Icon name="reasoning" /> <span>Show thinking</span>
    </button>
  );
}

/** One button for each panel: tabs where there is room for one thing at a time, else switches. */
type PanelBarProps = {
  panels: readonly PanelSpec[];
  film: Film | null;
  /** Names of those that are shown. */
  open: readonly string[];
  onPick(panel: PanelSpec): void;
  /** Show the chat again; absent where it is always shown. */
  onChat?: () => void;
};

function PanelBar({ panels, film, open, onPick, onChat }: PanelBarProps) {
  return (
    <nav className="tabs" aria-label="Panels" data-alone={onChat ? '' : undefined}>
      {onChat && <Tab title="Chat" isOpen={open.length === 0} onPick={onChat} />}
      {panels.map((panel) => (
        <Tab
          key={panel.name}
          title={panel.title}
          count={(film && panel.count?.(film)) || 0}
          keys={panel.key}
          isOpen={open.includes(panel.name)}
          onPick={() => onPick(panel)}
        />
      ))}
    </nav>
  );
}

type TabProps = { title: string; count?: number; keys?: string; isOpen: boolean; onPick: () => void };

function Tab({ title, count = 0, keys, isOpen, onPick }: TabProps) {
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
      {count > 0 && (
        <span className="count" aria-hidden="true">
          {number(count)}
        </span>
      )}
    </button>
  );
}
