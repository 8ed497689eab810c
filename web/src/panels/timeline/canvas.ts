/** A canvas as sharp as the screen, drawn once per frame at most. */
import { useEffect, useRef, type RefObject } from 'react';
import type { Size } from '../useSize';

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
