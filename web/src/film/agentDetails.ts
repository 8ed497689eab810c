/** What the agents of an app are made of, as the server describes them (`source/agent_details.py`). */
import { useEffect, useState } from 'react';
import { explain, Problem } from '../app/problem';
import { getJson } from '../app/request';
import { path } from '../app/serverUrl';
import type { Json } from './document';
import type { Film } from './film';
import { isImported } from './isImported';
import { shared } from './sharedFile';
import * as words from '../words/film';

/** A declaration; one that could not be read has a problem. */
export type AgentTool = { name: string; description?: string; problem?: string; [field: string]: Json | undefined };
export type AgentDetail = { instruction: string; model: string; tools: AgentTool[] };
export type AgentDetails = { agents: ReadonlyMap<string, AgentDetail>; why: string };

const NONE: ReadonlyMap<string, AgentDetail> = new Map();

/** Return the agents of a run's app, or why they are not known; null while they are asked for. */
export function useAgentDetails(film: Film): AgentDetails | null {
  const { app } = film;
  const [loaded, setLoaded] = useState<(AgentDetails & { app: string }) | null>(null);
  // An app of that name here need not be the one that ran there.
  const why = shared() ? words.fileDoesNotContain : isImported(film) ? words.runWasRecordedElsewhere : '';
  useEffect(() => {
    if (why) return;
    const leaving = new AbortController();
    getJson<Record<string, AgentDetail>>(`${path('api', 'apps', app)}/agents`, leaving.signal).then(
      (found) => setLoaded({ app, agents: new Map(Object.entries(found)), why: '' }),
      (error: unknown) => leaving.signal.aborted || setLoaded({ app, agents: NONE, why: whyNot(error) }),
    );
    return () => leaving.abort();
  }, [app, why]);
  if (why) return { agents: NONE, why };
  return loaded?.app === app ? loaded : null;
}

function whyNot(error: unknown): string {
  return error instanceof Problem && error.message.includes('administrators') ? words.onlyAdministratorsCanSeeInstructions : explain(error);
}
