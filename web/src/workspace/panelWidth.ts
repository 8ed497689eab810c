/** How wide a panel was made, remembered on this device; null: as wide as it is by itself. */
import { useState } from 'react';

const KEY = 'prism:width:';

function remembered(place: string): number | null {
  try {
    return Number(localStorage.getItem(KEY + place)) || null;
  } catch {
    return null;
  }
}

export function usePanelWidth(place: string): [number | null, (width: number | null) => void] {
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
