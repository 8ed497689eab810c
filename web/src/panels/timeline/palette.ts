/** The theme's colours for a canvas, which knows no custom properties. */
import { useEffect, useState } from 'react';
import type { Kind } from '../../ui/Kind';

const KINDS: readonly Kind[] = ['text', 'reasoning', 'tool', 'approval', 'state', 'proof', 'media', 'error', 'neutral'];
const GREYS = ['ground', 'sunken', 'line', 'line-strong', 'ink', 'ink-2', 'ink-3', 'focus'] as const;

export type Palette = {
  fill: Record<Kind, string>;
  soft: Record<Kind, string>;
  grey: Record<(typeof GREYS)[number], string>;
  font: string;
};

function readPalette(): Palette {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const resolve = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const ofKind = (name: string) =>
    Object.fromEntries(
      KINDS.map((kind) => {
        probe.dataset.kind = kind;
        return [kind, resolve(`var(${name})`)];
      }),
    ) as Record<Kind, string>;
  const palette: Palette = {
    fill: ofKind('--kind-fill'),
    soft: ofKind('--kind-soft'),
    grey: Object.fromEntries(GREYS.map((name) => [name, resolve(`var(--${name})`)])) as Palette['grey'],
    font: getComputedStyle(document.body).fontFamily,
  };
  probe.remove();
  return palette;
}

/** Return the colours of the theme, anew when it changes. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const renew = () => setPalette(readPalette());
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const chosen = new MutationObserver(renew);
    dark.addEventListener('change', renew);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      dark.removeEventListener('change', renew);
      chosen.disconnect();
    };
  }, []);
  return palette;
}
