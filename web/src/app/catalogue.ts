/** What can be opened: apps, and the conversations and recordings that were active last. */
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import type { Outcome } from '../film/document';
import { explain } from './problem';
import { getJson } from './request';

export type Prompt = { prompt: string; shows: string };

export type AppEntry =
  | { name: string; error: string }
  | {
      name: string;
      error?: undefined;
      description: string;
      agents: string[];
      models: string[];
      offline: boolean;
      /** It can be talked to. */
      live: boolean;
      bundled: boolean;
      prompts: Prompt[];
    };

export type ConversationEntry = {
  app: string;
  user: string;
  session: string;
  title: string;
  started: number;
  active: number;
  runs: number;
  run: string;
  outcome: Outcome | null;
  uploaded: boolean;
};

export type Catalogue = {
  apps: AppEntry[] | null;
  conversations: ConversationEntry[] | null;
  problem: string;
  refresh(): void;
};

const EMPTY: Catalogue = { apps: null, conversations: null, problem: '', refresh: () => undefined };

export const CatalogueContext = createContext<Catalogue>(EMPTY);
export const useCatalogue = (): Catalogue => useContext(CatalogueContext);

/** Load the catalogue, and again whenever the page comes back into view. */
export function useLoadedCatalogue(): Catalogue {
  const [apps, setApps] = useState<AppEntry[] | null>(null);
  const [conversations, setConversations] = useState<ConversationEntry[] | null>(null);
  const [problem, setProblem] = useState('');
  const refresh = useCallback(async () => {
    try {
      const [nextApps, next] = await Promise.all([getJson<AppEntry[]>('api/apps'), getJson<ConversationEntry[]>('api/conversations')]);
      setApps(nextApps);
      setConversations(next);
      setProblem('');
    } catch (error) {
      setProblem(explain(error));
    }
  }, []);
  useEffect(() => {
    void refresh();
    const onVisible = () => {
      if (document.visibilityState === 'visible') void refresh();
    };
    addEventListener('visibilitychange', onVisible);
    return () => removeEventListener('visibilitychange', onVisible);
  }, [refresh]);
  return useMemo(() => ({ apps, conversations, problem, refresh }), [apps, conversations, problem, refresh]);
}

/** Say which model an app asks. */
export function modelWords(app: AppEntry): string {
  if (app.error !== undefined) return '';
  if (app.offline) return 'offline scripted model';
  return app.models.join(', ') || 'no model';
}
