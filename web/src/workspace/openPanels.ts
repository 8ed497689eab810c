/** Which panels stand beside the chat: what was asked for, as far as there is room, else what the run suggests. */
import type { Route } from '../app/route';
import { PANELS } from '../features/registry';
import type { PanelSpec } from '../features/feature';
import { useCallback, useSyncExternalStore, useState } from 'react';
import { lastUpTo, type Film } from '../film/film';
import { waitingPlan } from '../features/grounding/grounding';

// How much room there is beside the chat.

/** Below, a chat and a panel side by side would both be too narrow to read. */
const PANEL = '(min-width: 821px)';
const TWO_PANELS = '(min-width: 1280px)';
const PLENTY = '(min-width: 2200px)';

export function useRoom(): Room {
  const panel = useMediaQuery(PANEL);
  const two = useMediaQuery(TWO_PANELS);
  const plenty = useMediaQuery(PLENTY);
  return plenty ? 'plenty' : two ? 'two panels' : panel ? 'panel' : 'one';
}

/** Whether a media query holds, now and later. */
function useMediaQuery(query: string): boolean {
  const subscribe = useCallback(
    (notify: () => void) => {
      const list = matchMedia(query);
      list.addEventListener('change', notify);
      return () => list.removeEventListener('change', notify);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}

/**
 * How much room there is: for one thing at a time, for the chat and one column, for the trace and the inspector beside
 * it, for more than is asked for.
 */
export type Room = 'one' | 'panel' | 'two panels' | 'plenty';

/** The trace in the middle, the inspector on the right. */
export type OpenPanels = { trace: PanelSpec | null; side: PanelSpec | null };

type Choice = Pick<Route, 'panel' | 'options'>;

/** In the place of a panel's name: the chat alone was asked for. */
export const CHAT_ALONE = 'chat';
const TRACE = PANELS.find((panel) => panel.place === 'centre') ?? null;
/** What a large screen shows beside the trace when nothing else is asked for. */
const USUAL = 'graph';

export function panelNamed(name: string | null | undefined, place?: PanelSpec['place']): PanelSpec | null {
  return PANELS.find((panel) => panel.name === name && (place === undefined || panel.place === place)) ?? null;
}

// Whether the trace is open is remembered on this device: whoever closed it does not want it with every new chat.
const KEY = 'prism:trace';

function isRememberedClosed(): boolean {
  try {
    return localStorage.getItem(KEY) === 'closed';
  } catch {
    return false;
  }
}

function remember(isOpen: boolean): void {
  try {
    localStorage.setItem(KEY, isOpen ? 'open' : 'closed');
  } catch {
    // Not remembered, then.
  }
}

/** Return what is open, of the panels that there are; `hasRun` says that there is something to show. */
export function openPanels(
  { panel, options }: Choice,
  room: Room,
  suggested: string | null,
  hasRun: boolean,
  panels: readonly PanelSpec[] = PANELS,
): OpenPanels {
  const isThere = (spec: PanelSpec | null) => (spec && panels.includes(spec) ? spec : null);
  const asked = isThere(panelNamed(panel));
  if (room === 'one') {
    return { trace: asked?.place === 'centre' ? asked : null, side: asked?.place === 'inspector' ? asked : null };
  }
  const usual = room === 'plenty' && hasRun ? USUAL : null;
  const isFree = panel === null || asked?.place === 'centre';
  const side = asked?.place === 'inspector' ? asked : isFree ? panelNamed(suggested ?? usual, 'inspector') : null;
  return { trace: isTraceOpen({ panel, options }, room, hasRun) ? isThere(TRACE) : null, side: isThere(side) };
}

function isTraceOpen({ panel, options }: Choice, room: Room, hasRun: boolean): boolean {
  if (panel === TRACE?.name || options.trace === 'open') return true;
  // Addresses of earlier versions: the timeline was open as a waterfall or a table.
  if (options.waterfall === 'open' || options.waterfall === 'table') return true;
  if (options.trace === 'closed' || !hasRun || isRememberedClosed()) return false;
  return room === 'two panels' || room === 'plenty';
}

/** Return the choice after a panel was opened or, if it is open, closed. */
export function togglePanel(choice: Choice, spec: PanelSpec, open: OpenPanels, room: Room): Choice {
  const isOpen = open.trace === spec || open.side === spec;
  if (room === 'one') return { panel: isOpen ? CHAT_ALONE : spec.name, options: choice.options };
  if (spec.place === 'inspector') return { panel: isOpen ? CHAT_ALONE : spec.name, options: choice.options };
  remember(!isOpen);
  const options = { ...choice.options, trace: isOpen ? 'closed' : 'open', waterfall: '' };
  return { panel: choice.panel === spec.name ? null : choice.panel, options };
}

// The panel that a run opens by itself: a plan that waits for an answer, or what stands behind an answer.

/** Return the panel that a run asks for; once it did, it stays until another one is asked for. */
export function useSuggestedPanel(film: Film | null): string | null {
  const now = film && suggestedPanel(film);
  const [last, setLast] = useState(now);
  if (now !== null && now !== last) setLast(now);
  return now ?? last;
}

function suggestedPanel(film: Film): string | null {
  if (waitingPlan(film)) return 'grounding';
  return film.ended && isBriefing(film) ? 'proof' : null;
}

/** An answer that says how sure it is, and rests on something. */
function isBriefing(film: Film): boolean {
  const whole = film.items.proofs.find((item) => item.is.id === 'proof');
  const proof = whole && lastUpTo(whole.marks, film.last)?.[1];
  return !!proof && (proof.confidence !== null || !!proof.level) && proof.citations.length > 0;
}
