/** What can be opened: apps, and the conversations and recordings that were active last. */
import { listConversations, type Conversation } from '@adk-prism/client';
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { queries, useServerData } from './query';
import { formatRoute, HOME, linkTo } from './route';
import { explain, getJson, SERVER } from './server';
import { readable } from '../ui/format';

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
  /** Why the changed code could not be loaded: the code from before is used. */
  reloadError?: string;
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

const EMPTY: Catalogue = {
  apps: null,
  conversations: null,
  problem: '',
  refresh: () => undefined,
  loadAll: () => undefined,
  load: () => undefined,
};

export const CatalogueContext = createContext<Catalogue>(EMPTY);
export const useCatalogue = (): Catalogue => useContext(CatalogueContext);

/** Load the catalogue, and again whenever the page comes back into view. */
export function useLoadedCatalogue(): Catalogue {
  const [limit, setLimit] = useState(LATEST);
  const apps = useServerData(['apps'], (signal) => getJson<AppEntry[]>('api/apps', signal), { refetchOnFocus: true });
  const list = useServerData(['conversations', limit], () => listConversations(SERVER, { limit }), {
    refetchOnFocus: true,
    keepPrevious: true,
    merge: sameEntries,
  });
  const listed = list.data?.length ?? 0;
  const loadAll = useCallback(() => setLimit((known) => (listed < LATEST ? known : ALL)), [listed]);
  const error = apps.error ?? list.error;
  return useMemo(
    () => ({
      apps: apps.data ?? null,
      conversations: list.data ?? null,
      problem: error ? explain(error) : '',
      refresh,
      loadAll,
      load,
    }),
    [apps.data, list.data, error, loadAll],
  );
}

function refresh(): void {
  void queries.invalidateQueries({ queryKey: ['apps'] });
  void queries.invalidateQueries({ queryKey: ['conversations'] });
}

async function load(name: string): Promise<void> {
  try {
    const loaded = await getJson<AppEntry>(`api/apps/${encodeURIComponent(name)}`);
    queries.setQueryData<AppEntry[]>(['apps'], (known) => known?.map((app) => (app.name === name ? loaded : app)));
  } catch {
    // Whatever is asked of the app next says what is wrong.
  }
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
 * Have an app loaded whose chat is open: only then is it known whether it can be talked to. A list that was asked for
 * before it was loaded may arrive later, and says again that it is not; so each entry that says so is answered, not
 * only the first.
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
  if (app.offline) return 'Demo model (offline)';
  return app.models.join(', ') || 'No model';
}

/** Return new entries; those that are as they were as the same objects, and so the list: these are not drawn again. */
export function sameEntries(known: ConversationEntry[], next: ConversationEntry[]): ConversationEntry[] {
  const old = new Map(known.map((entry) => [JSON.stringify(entry), entry]));
  const merged = next.map((entry) => old.get(JSON.stringify(entry)) ?? entry);
  return merged.length === known.length && merged.every((entry, at) => entry === known[at]) ? known : merged;
}

/** Where a conversation is opened: a chat of this server, or a recording as the run that it is. */
export function addressOf({ uploaded, run, app, session, user }: ConversationEntry): string {
  if (uploaded) return linkTo({ kind: 'run', run });
  const options: Record<string, string> = user === 'user' ? {} : { user };
  return formatRoute({ ...HOME, place: { kind: 'chat', app, session }, options });
}
