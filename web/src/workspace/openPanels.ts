/** Which panels stand beside the chat: what was asked for, as far as there is room, else what the run suggests. */
import type { Route } from '../app/route';
import { PANELS } from '../panels';
import type { PanelSpec } from '../panels/panel';

/** How much room there is: for one thing at a time, for the chat and one panel, for two panels, for more than is asked for. */
export type Room = 'one' | 'panel' | 'two panels' | 'plenty';

export type OpenPanels = { centre: PanelSpec | null; side: PanelSpec | null };

type Choice = Pick<Route, 'panel' | 'options'>;

/** In the place of a panel's name: the chat alone was asked for. */
export const CHAT_ALONE = 'chat';
const PUT_AWAY = 'none';
const CENTRE = PANELS.find((panel) => panel.place === 'centre') ?? null;

export function panelNamed(name: string | null | undefined, place?: PanelSpec['place']): PanelSpec | null {
  return PANELS.find((panel) => panel.name === name && (place === undefined || panel.place === place)) ?? null;
}

/** Return what is open; `hasRun` says that there is something to show. */
export function openPanels({ panel, options }: Choice, room: Room, suggested: string | null, hasRun: boolean): OpenPanels {
  const chosen = panelNamed(panel);
  if (room === 'one') return { centre: panelNamed(panel, 'centre'), side: panelNamed(panel, 'inspector') };
  const side = panelNamed(panel, 'inspector') ?? panelNamed(panel === null ? (options.side ?? suggested) : options.side, 'inspector');
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
  const centre = closed ? PUT_AWAY : next.centre && spec !== next.centre ? next.centre.name : spec.place === 'centre' || choice.options.centre !== PUT_AWAY ? '' : PUT_AWAY;
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
