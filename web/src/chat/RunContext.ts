/** The run that the panels show: its messages can tell how long an agent took, and lead to their events. */
import { createContext, useContext } from 'react';
import { once, type Film } from '../film/film';
import { endOf, SECOND, type NodeItem } from '../film/timeline';

export const RunContext = createContext<Film | null>(null);

export const useRun = (): Film | null => useContext(RunContext);

const byCall = once((film: Film) => new Map(film.items.nodes.filter(({ is }) => is.call).map((node) => [node.is.call, node] as const).reverse()));

/** Return where a call is in a run; null where the run does not know it. */
export function callNode(film: Film | null, call: string): NodeItem | null {
  return (film && byCall(film).get(call)) ?? null;
}

/** Return the run of an agent that no call asked; null where it is not known. */
export function agentNode(film: Film | null, path: string, branch: string): NodeItem | null {
  return film?.items.nodes.find(({ is }) => is.path === path && is.lane === branch) ?? null;
}

/** Return how long a node ran, in seconds; null while it runs. */
export function secondsOf(node: NodeItem | null): number | null {
  const end = node && endOf(node);
  return end ? (end.end - node.is.start) / SECOND : null;
}
