/** A panel beside the chat: as wide as it was made, and closed when it is made too narrow. */
import { useRef, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode, useState } from 'react';
import { useSize } from '../ui/hooks';
import { Icon } from '../ui/Icon';

/** How wide a panel was made, remembered on this device; null: as wide as it is by itself. */
const KEY = 'prism:width:';

function remembered(place: string): number | null {
  try {
    return Number(localStorage.getItem(KEY + place)) || null;
  } catch {
    return null;
  }
}

function usePanelWidth(place: string): [number | null, (width: number | null) => void] {
  const [width, setWidth] = useState(() => remembered(place));
  const keep = (next: number | null) => {
    setWidth(next);
    try {
      if (next === null) localStorage.removeItem(KEY + place);
      else localStorage.setItem(KEY + place, String(Math.round(next)));
    } catch {
      // Not remembered, then.
    }
  };
  return [width, keep];
}

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
    <aside
      className="slot"
      data-place={place}
      aria-label={`${title} panel`}
      ref={slot}
      style={width === null ? undefined : ({ '--width': `${width}px` } as CSSProperties)}
    >
      <div
        className="slot-edge"
        role="separator"
        aria-orientation="vertical"
        aria-label={`Width of ${title}`}
        aria-valuenow={Math.round(measured)}
        aria-valuemin={LEAST}
        aria-valuemax={Math.max(LEAST, Math.round(measured), most())}
        tabIndex={0}
        title="Drag to resize. Double-click or 0: usual width. Enter: close"
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => setWidth(null)}
        onKeyDown={press}
      />
      {children}
      <button
        type="button"
        className="button slot-close"
        data-look="quiet"
        data-square=""
        title={`Close ${title}`}
        aria-label={`Close ${title}`}
        onClick={onClose}
      >
        <Icon name="cross" />
      </button>
    </aside>
  );
}
