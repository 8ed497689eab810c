/** A canvas as sharp as the screen, drawn once per frame at most. */
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';

export type Size = { width: number; height: number };

/** Return the size of an element, as it changes. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = () => setSize({ width: target.clientWidth, height: target.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    return () => observer.disconnect();
  }, [element]);
  return size;
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
