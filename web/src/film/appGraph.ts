/** The app as a graph, as it declares itself (`adk/graph.py`): what may run, beside what ran. */
import { useMemo } from 'react';
import { useServerData } from '../app/query';
import { path, getJson, explain, Problem } from '../app/server';
import { isImported, type Film } from './film';
import { shared } from './sharedFile';
import type { Json } from '@adk-prism/client/film';

// What the agents of an app are made of, as the server describes them (`source/agent_details.py`).

/** A declaration; one that could not be read has a problem. */
export type AgentTool = { name: string; description?: string; problem?: string; [field: string]: Json | undefined };
export type AgentDetail = { instruction: string; model: string; tools: AgentTool[] };
export type AgentDetails = { agents: ReadonlyMap<string, AgentDetail>; why: string };

const NONE: ReadonlyMap<string, AgentDetail> = new Map();

/** Return the agents of a run's app, or why they are not known; null while they are asked for. */
export function useAgentDetails(film: Film): AgentDetails | null {
  const { app } = film;
  // An app of that name here need not be the one that ran there.
  const why = shared()
    ? 'This file does not contain the app.'
    : isImported(film)
      ? 'The run was recorded elsewhere: its app is not known here.'
      : '';
  const load = (signal: AbortSignal) =>
    getJson<Record<string, AgentDetail>>(`${path('api', 'apps', app)}/agents`, signal);
  const { data, error } = useServerData(['agents', app], load, { enabled: !why });
  const agents = useMemo(() => (data ? new Map(Object.entries(data)) : NONE), [data]);
  if (why || error) return { agents: NONE, why: why || whyNot(error) };
  return data ? { agents, why: '' } : null;
}

function whyNot(error: unknown): string {
  return error instanceof Problem && error.message.includes('administrators')
    ? 'Only administrators can see instructions and tools.'
    : explain(error);
}

export type AppNode = {
  id: string;
  name: string;
  kind: string;
  flow?: string;
  model?: string;
  description?: string;
  parent?: string;
};
type AppEdge = { id: string; from: string; to: string; kind: string; route?: unknown };
export type AppGraph = { nodes: AppNode[]; edges: AppEdge[]; truncated?: boolean };

/** Return the graph of a run's app; null where there is none: a run from elsewhere, an app that is gone. */
export function useAppGraph(film: Film): AppGraph | null {
  const { app } = film;
  // An app of that name here need not be the one that ran there.
  const isForeign = isImported(film) || shared() !== null;
  const load = (signal: AbortSignal) => getJson<AppGraph>(`${path('api', 'studio', app)}/graph`, signal);
  // Whatever the reason, the run itself is drawn without it.
  const { data } = useServerData(['graph', app], load, { enabled: !isForeign });
  return isForeign ? (shared()?.graph ?? null) : (data ?? null);
}
