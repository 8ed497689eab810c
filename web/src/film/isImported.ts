import type { Film } from './film';

/** Runs that the server reads from an ADK session have such an id: their session is here, though nobody recorded them. */
const FROM_SESSION = 'session-';

/** Tell whether a run was recorded elsewhere, so that its session is not on this server. */
export function isImported({ uploaded, captured, run }: Pick<Film, 'uploaded' | 'captured' | 'run'>): boolean {
  return uploaded || (captured && !run.startsWith(FROM_SESSION));
}
