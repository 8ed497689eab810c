/** The app as a graph, as it declares itself (`source/graph.py`): what may run, beside what ran. */
import { useEffect, useState } from 'react';
import { path } from '../app/base';
import { getJson } from '../app/request';
import { shared } from './shared';

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

/** Return the app's graph; null where there is none: a capture, a shared file, an app that is not served here. */
export function useAppGraph(app: string): AppGraph | null {
  const [loaded, setLoaded] = useState<{ app: string; graph: AppGraph | null } | null>(null);
  useEffect(() => {
    if (shared()) return;
    const leaving = new AbortController();
    getJson<AppGraph>(`${path('api', 'studio', app)}/graph`, leaving.signal).then(
      (graph) => setLoaded({ app, graph }),
      () => {
        // Whatever the reason, the run itself is drawn without it.
        if (!leaving.signal.aborted) setLoaded({ app, graph: null });
      },
    );
    return () => leaving.abort();
  }, [app]);
  return shared() ? shared()!.graph : loaded?.app === app ? loaded.graph : null;
}
