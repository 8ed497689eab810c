/** The app as a graph, as it declares itself (`source/graph.py`): what may run, beside what ran. */
import { useEffect, useState } from 'react';
import { path } from '../app/serverUrl';
import { getJson } from '../app/request';
import { isImported } from './isImported';
import type { Film } from './film';
import { shared } from './sharedFile';

export type AppNode = {
  id: string;
  name: string;
  kind: string;
  flow?: string;
  model?: string;
  description?: string;
  parent?: string;
};
export type AppEdge = { id: string; from: string; to: string; kind: string; route?: unknown };
export type AppGraph = { nodes: AppNode[]; edges: AppEdge[]; truncated?: boolean };

/** Return the graph of a run's app; null where there is none: a run from elsewhere, an app that is gone. */
export function useAppGraph(film: Film): AppGraph | null {
  const { app } = film;
  const [loaded, setLoaded] = useState<{ app: string; graph: AppGraph | null } | null>(null);
  // An app of that name here need not be the one that ran there.
  const isForeign = isImported(film) || shared() !== null;
  useEffect(() => {
    if (isForeign) return;
    const leaving = new AbortController();
    getJson<AppGraph>(`${path('api', 'studio', app)}/graph`, leaving.signal).then(
      (graph) => setLoaded({ app, graph }),
      () => {
        // Whatever the reason, the run itself is drawn without it.
        if (!leaving.signal.aborted) setLoaded({ app, graph: null });
      },
    );
    return () => leaving.abort();
  }, [app, isForeign]);
  if (isForeign) return shared()?.graph ?? null;
  return loaded?.app === app ? loaded.graph : null;
}
