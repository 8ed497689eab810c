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
const TWO_PANELS = '(min-width: 1700px)';
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
 * How much room there is: for one thing at a time, for the chat and one panel, for two panels, for more than is asked
 * for.
 */
export type Room = 'one' | 'panel' | 'two panels' | 'plenty';

type OpenPanels = { centre: PanelSpec | null; side: PanelSpec | null };

type Choice = Pick<Route, 'panel' | 'options'>;

/** In the place of a panel's name: the chat alone was asked for. */
export const CHAT_ALONE = 'chat';
const PUT_AWAY = 'none';
const CENTRE = PANELS.find((panel) => panel.place === 'centre') ?? null;

export function panelNamed(name: string | null | undefined, place?: PanelSpec['place']): PanelSpec | null {
  return PANELS.find((panel) => panel.name === name && (place === undefined || panel.place === place)) ?? null;
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
  const { centre, side } = askedFor({ panel, options }, room, suggested, hasRun);
  return { centre: isThere(centre), side: isThere(side) };
}

function askedFor({ panel, options }: Choice, room: Room, suggested: string | null, hasRun: boolean): OpenPanels {
  const chosen = panelNamed(panel);
  if (room === 'one') return { centre: panelNamed(panel, 'centre'), side: panelNamed(panel, 'inspector') };
  const side =
    panelNamed(panel, 'inspector') ??
    panelNamed(panel === null ? (options.side ?? suggested) : options.side, 'inspector');
  const isSpread = room === 'plenty' && hasRun && panel !== CHAT_ALONE && options.centre !== PUT_AWAY;
  const centre = chosen?.place === 'centre' ? chosen : options.centre === CENTRE?.name || isSpread ? CENTRE : null;
  if (room !== 'panel' || !centre || !side) return { centre, side };
  return chosen?.place === 'centre' ? { centre, side: null } : { centre: null, side };
}

/** Return the choice after a panel was opened or, if it is open, closed. */
export function togglePanel(choice: Choice, spec: PanelSpec, open: OpenPanels, room: Room): Choice {
  if (spec.place === 'bottom') return toggleTimeline(choice, spec, room);
  const isOpen = open.centre === spec || open.side === spec;
  const next = { ...open, [spec.place === 'centre' ? 'centre' : 'side']: isOpen ? null : spec };
  if (room === 'one' || room === 'panel') next[spec.place === 'centre' ? 'side' : 'centre'] = null;
  const closed = spec.place === 'centre' && isOpen;
  const centre = closed
    ? PUT_AWAY
    : next.centre && spec !== next.centre
      ? next.centre.name
      : spec.place === 'centre' || choice.options.centre !== PUT_AWAY
        ? ''
        : PUT_AWAY;
  const front = (isOpen ? null : spec) ?? next.side ?? next.centre;
  const side = next.side && front !== next.side ? next.side.name : '';
  return { panel: front?.name ?? CHAT_ALONE, options: { ...choice.options, side, centre } };
}

/** Below the chat the timeline opens into a waterfall; where there is room for one thing, it is that. */
function toggleTimeline(choice: Choice, spec: PanelSpec, room: Room): Choice {
  const { options, panel } = choice;
  if (room === 'one') return { panel: panel === spec.name ? CHAT_ALONE : spec.name, options };
  return { panel, options: { ...options, waterfall: options.waterfall === 'open' ? 'strip' : 'open' } };
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
