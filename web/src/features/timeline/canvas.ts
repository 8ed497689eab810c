/** A canvas as sharp as the screen, drawn once per frame at most. */
import { useEffect, useRef, type RefObject, useState } from 'react';
import type { Size } from '../../ui/hooks';
import type { Kind } from '../../ui/Kind';

/** The theme's colours for a canvas, which knows no custom properties. */
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

/** Draw with a function whenever it is a new one; in CSS pixels, on an empty canvas. */
export function useDrawing(
  canvas: RefObject<HTMLCanvasElement | null>,
  { width, height }: Size,
  draw: (context: CanvasRenderingContext2D) => void,
): void {
  const frame = useRef(0);
  useEffect(() => {
    const target = canvas.current;
    const context = target?.getContext('2d');
    if (!target || !context || !width || !height) return;
    frame.current = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (target.width !== w || target.height !== h) [target.width, target.height] = [w, h];
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      draw(context);
    });
    return () => cancelAnimationFrame(frame.current);
  }, [canvas, width, height, draw]);
}

/** Return a hatching in a colour: time that is not work. */
export function hatching(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const pen = tile.getContext('2d');
  if (!pen) return colour;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}
