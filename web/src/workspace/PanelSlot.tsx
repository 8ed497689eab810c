/** A panel beside the chat: as wide as it was made, and closed when it is made too narrow. */
import { useRef, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';
import { useSize } from '../panels/useSize';
import { Icon } from '../ui/Icon';
import { usePanelWidth } from './panelWidth';
import * as words from '../words/workspace';

const LEAST = 280;
/** Whoever makes it narrower than this wants it gone. */
const CLOSES = 160;
/** What the chat keeps, at the least. */
const CHAT = 380;
const STEP = 24;

type Props = { place: 'centre' | 'side'; title: string; onClose(): void; children: ReactNode };

export function PanelSlot({ place, title, onClose, children }: Props) {
  const slot = useRef<HTMLElement>(null);
  const { width: measured } = useSize(slot);
  const [width, setWidth] = usePanelWidth(place);
  const most = () => Math.max(LEAST, (slot.current?.parentElement?.clientWidth ?? LEAST) - CHAT);
  const resize = (to: number) => setWidth(Math.min(most(), Math.max(LEAST, to)));
  const drag = (event: PointerEvent) => {
    const right = slot.current?.getBoundingClientRect().right ?? 0;
    if (event.buttons !== 1) return;
    const wanted = right - event.clientX;
    if (wanted < CLOSES) onClose();
    else resize(wanted);
  };
  const press = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => resize(measured + STEP),
      ArrowRight: () => resize(measured - STEP),
      Home: () => resize(LEAST),
      End: () => resize(most()),
      '0': () => setWidth(null),
      Enter: onClose,
    };
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  return (
    <aside className="slot" data-place={place} aria-label={words.panel(title)} ref={slot} style={width === null ? undefined : ({ '--width': `${width}px` } as CSSProperties)}>
      <div
        className="slot-edge"
        role="separator"
        aria-orientation="vertical"
        aria-label={words.widthOf(title)}
        aria-valuenow={Math.round(measured)}
        aria-valuemin={LEAST}
        aria-valuemax={Math.max(LEAST, Math.round(measured), most())}
        tabIndex={0}
        title={words.dragToResizeDoubleClick}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => setWidth(null)}
        onKeyDown={press}
      />
      {children}
      <button type="button" className="button slot-close" data-look="quiet" data-square="" title={words.close(title)} aria-label={words.close(title)} onClick={onClose}>
        <Icon name="cross" />
      </button>
    </aside>
  );
}
