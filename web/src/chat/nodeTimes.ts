/** How long the agents of an answer took, where the panels show another run: asked for when it comes into sight, once. */
import { useEffect, useState, type RefObject } from 'react';
import { getJson } from '../app/request';
import { path } from '../app/serverUrl';
import { shared } from '../film/sharedFile';
import type { TimelineView } from '../film/timeline';

type NodeTime = TimelineView['nodes'][number];

const MOST_RUNS = 200; // Then what was asked for first is forgotten.
const known = new Map<string, Promise<readonly NodeTime[]>>();

function nodesOf(run: string): Promise<readonly NodeTime[]> {
  let found = known.get(run);
  if (!found) {
    const asked = getJson<{ timeline: TimelineView }>(`${path('api', 'runs', run)}/view?panel=timeline`);
    // Without the times the answer is shown as it is.
    found = asked.then(({ timeline }) => timeline.nodes, () => []);
    known.set(run, found);
    if (known.size > MOST_RUNS) known.delete(known.keys().next().value!);
  }
  return found;
}

export type Wanted = { call: string | null; path: string; branch: string };

/** Return the seconds that a call, or an agent that no call asked, took in one of some runs; null while that is not known. */
export function useNodeTime(runs: readonly string[], { call, path: where, branch }: Wanted, element: RefObject<Element | null>, isWanted: boolean): number | null {
  const [seconds, setSeconds] = useState<number | null>(null);
  const ids = runs.join(' ');
  useEffect(() => {
    const target = element.current;
    if (!isWanted || !ids || !target || shared() || typeof IntersectionObserver === 'undefined') return;
    let isLeft = false;
    const sight = new IntersectionObserver(async (changes) => {
      if (!changes.some((change) => change.isIntersecting)) return;
      sight.disconnect();
      const nodes = (await Promise.all(ids.split(' ').map(nodesOf))).flat();
      const found = nodes.find((node) => (call ? node.call === call : node.path === where && node.lane === branch));
      if (!isLeft && found && found.until !== null) setSeconds(found.duration);
    });
    sight.observe(target);
    return () => {
      isLeft = true;
      sight.disconnect();
    };
  }, [ids, call, where, branch, element, isWanted]);
  return seconds;
}
