/** A moment: relative to the run's start if that is given, else to now; absolute on hover. Seconds since 1970. */
import { ago, duration } from './format';

export function Time({ at, start }: { at: number; start?: number }) {
  const absolute = new Date(at * 1000);
  if (Number.isNaN(absolute.getTime())) return null;
  return (
    <time className="time" dateTime={absolute.toISOString()} title={absolute.toLocaleString()}>
      {start === undefined ? ago(at, Date.now() / 1000) : `+${duration(at - start)}`}
    </time>
  );
}
