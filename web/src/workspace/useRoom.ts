/** How much room there is beside the chat. */
import type { Room } from './openPanels';
import { useMediaQuery } from './useMediaQuery';

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
