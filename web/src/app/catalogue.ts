/** What can be opened: apps, and the conversations and recordings that were active last. */
import { listConversations, type Conversation } from '@adk-prism/client';
import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { sameEntries } from './conversationList';
import { explain } from './problem';
import { getJson, SERVER } from './request';
import { readable } from '../ui/format';
import * as words from '../words/app';

export type Prompt = { prompt: string; shows: string };

/** An app that can be used. What only its code says is null until it was loaded: its first use, or `load`. */
export type UsableApp = {
  name: string;
  error?: undefined;
  problem?: undefined;
  /** What the app calls itself, if it does. */
  title: string | null;
  description: string | null;
  agents: string[] | null;
  models: string[] | null;
  offline: boolean | null;
  /** It can be talked to. Null also for an app on another server, which does not tell. */
  live: boolean | null;
  bundled: boolean;
  /** How often the server imported it again, because its code had changed. */
  reloads: number;
  /** Its code has changed since, so that its next use loads it again. */
  changed: boolean;
  prompts: Prompt[];
};

export type AppEntry =
  /** It could not be loaded. */
  | { name: string; error: string; problem?: undefined }
  /** It cannot be an app. */
  | { name: string; problem: string; error?: undefined }
  | UsableApp;

export type ConversationEntry = Conversation;

export type Catalogue = {
  apps: AppEntry[] | null;
  conversations: ConversationEntry[] | null;
  problem: string;
  refresh(): void;
  /** Have all conversations listed from now on, not only the latest. */
  loadAll(): void;
  /** Have the server load an app, so that all of it is known. */
  load(name: string): void;
};

/** Conversations that are listed at first, and at most. */
const LATEST = 40;
const ALL = 1000;

const EMPTY: Catalogue = { apps: null, conversations: null, problem: '', refresh: () => undefined, loadAll: () => undefined, load: () => undefined };

export const CatalogueContext = createContext<Catalogue>(EMPTY);
export const useCatalogue = (): Catalogue => useContext(CatalogueContext);

/** Load the catalogue, and again whenever the page comes back into view. */
export function useLoadedCatalogue(): Catalogue {
  const [apps, setApps] = useState<AppEntry[] | null>(null);
  const [conversations, setConversations] = useState<ConversationEntry[] | null>(null);
  const [problem, setProblem] = useState('');
  const limit = useRef(LATEST);
  const listed = useRef(0);
  const refresh = useCallback(async () => {
    try {
      const [nextApps, next] = await Promise.all([getJson<AppEntry[]>('api/apps'), listConversations(SERVER, { limit: limit.current })]);
      setApps(nextApps);
      setConversations((known) => sameEntries(known ?? [], next));
      listed.current = next.length;
      setProblem('');
    } catch (error) {
      setProblem(explain(error));
    }
  }, []);
  const loadAll = useCallback(() => {
    if (limit.current === ALL || listed.current < LATEST) return;
    limit.current = ALL;
    void refresh();
  }, [refresh]);
  const load = useCallback(async (name: string) => {
    try {
      const loaded = await getJson<AppEntry>(`api/apps/${encodeURIComponent(name)}`);
      setApps((known) => known && known.map((app) => (app.name === name ? loaded : app)));
    } catch {
      // Whatever is asked of the app next says what is wrong.
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
  return useMemo(() => ({ apps, conversations, problem, refresh, loadAll, load }), [apps, conversations, problem, refresh, loadAll, load]);
}

export function isUsable(app: AppEntry | undefined): app is UsableApp {
  return app !== undefined && app.error === undefined && app.problem === undefined;
}

/** Return what an app is called: by itself, or its name made readable. */
export function titleOf(app: AppEntry): string {
  return (isUsable(app) && app.title) || readable(app.name);
}

/** Tell whether to offer the voice: also where only trying tells. */
export function mayTalk(app: UsableApp): boolean {
  return app.live ?? app.models !== null;
}

/** Return what is known of an app; null if it cannot be used. */
export function useApp(name: string): UsableApp | null {
  const { apps } = useCatalogue();
  const entry = apps?.find((known) => known.name === name);
  return isUsable(entry) ? entry : null;
}

/**
 * Have an app loaded whose chat is open: only then is it known whether it can be talked to. A list that was asked for before
 * it was loaded may arrive later, and says again that it is not; so each entry that says so is answered, not only the first.
 */
export function useLoaded(app: UsableApp | null): void {
  const { load } = useCatalogue();
  useEffect(() => {
    if (app?.models === null) load(app.name);
  }, [app, load]);
  const name = app?.name;
  useEffect(() => {
    // Whoever comes back from an editor sees at once that the app is new, or that it no longer loads.
    const onVisible = () => {
      if (name !== undefined && document.visibilityState === 'visible') load(name);
    };
    addEventListener('visibilitychange', onVisible);
    return () => removeEventListener('visibilitychange', onVisible);
  }, [name, load]);
}

/** Say which model an app asks; empty while that is not known. */
export function modelWords(app: UsableApp): string {
  if (app.models === null) return '';
  if (app.offline) return words.demoModelOffline;
  return app.models.join(', ') || words.noModel;
}
